// The table of all cases: filtered, sorted, the first rows of it drawn, a row's details when it is opened.

const rowsAtOnce = 200;
const notPassed = 'all but passed';
const view = { match: '', status: '', bucket: '', cell: null, sort: 'status', descending: false, rows: rowsAtOnce };

// As `attest run --match`: a part of the token, or a glob over all of it where it has *, ? or [.
function matcher(text) {
  if (!/[*?[]/.test(text)) return (token) => token.includes(text);
  let pattern = '';
  for (let i = 0; i < text.length; ++i) {
    const close = text[i] === '[' ? text.indexOf(']', i + 2) : -1;
    if (close > 0) {
      const set = text.slice(i + 1, close).replace(/[\\\]^[]/g, '\\$&').replace(/^(!|\\\^)/, '^');
      pattern += `[${set}]`;
      i = close;
    } else {
      pattern += { '*': '.*', '?': '.' }[text[i]] || text[i].replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');
    }
  }
  try {
    const glob = new RegExp(`^${pattern}$`, 's');
    return (token) => glob.test(token);
  } catch {
    return () => false;
  }
}

const columns = [
  { key: 'status', name: 'status', of: (c) => statuses.indexOf(c.status) },
  { key: 'token', name: 'case', of: (c) => c.token },
  { key: 'fp32', name: 'ratio, fp32', of: (c) => (Number.isNaN(c.fp32) ? Infinity : c.fp32), number: true },
  { key: 'o', name: 'ratio, o', of: (c) => (Number.isNaN(c.o) ? Infinity : c.o), number: true },
  { key: 'tokens', name: 'sees', of: (c) => c.tokens, number: true },
  { key: 'ms', name: 'ms', of: (c) => c.ms, number: true },
];

function selected() {
  const matches = matcher(view.match);
  const hasStatus = (c) => !view.status || (view.status === notPassed ? c.status !== 'passed' : c.status === view.status);
  const list = cases.filter((c) => matches(c.token) && hasStatus(c) && (!view.bucket || c.bucket === view.bucket)
    && (!view.cell || (c.kernel === view.cell.kernel && c.distribution === view.cell.distribution && lengthClass(c.longest) === view.cell.place)));
  const { of } = columns.find((column) => column.key === view.sort);
  const sign = view.descending ? -1 : 1;
  const compare = (a, b) => (a < b ? -1 : a > b ? 1 : 0);
  // Of equals the larger ratio comes first, then what ran first.
  return list.sort((a, b) => sign * compare(of(a), of(b)) || compare(b.fp32, a.fp32) || a.order - b.order);
}

function drawHead() {
  const cells = columns.map((column) => {
    const sorted = view.sort === column.key ? (view.descending ? 'descending' : 'ascending') : undefined;
    return el('th', { scope: 'col', class: column.number ? 'n' : undefined, 'aria-sort': sorted },
      el('button', { type: 'button', 'data-sort': column.key, click: () => sortBy(column) }, column.name));
  });
  byId('case-table').tHead.replaceChildren(el('tr', {}, ...cells));
}

function sortBy(column) {
  // Numbers are looked at from the largest on.
  view.descending = view.sort === column.key ? !view.descending : Boolean(column.number);
  view.sort = column.key;
  drawCases();
  byId('case-table').querySelector(`[data-sort="${column.key}"]`).focus();
}

function ratioCell(ratio) {
  return el('td', { class: 'n' }, isOver(ratio) ? el('span', { class: 'over-1' }, `\u2715 ${ratioText(ratio)}`) : ratioText(ratio));
}

function caseRow(c) {
  const open = el('button', { type: 'button', class: 'open', 'aria-expanded': 'false' }, el('code', {}, c.token));
  const row = el('tr', { class: 'case', click: () => {
    const isOpen = open.getAttribute('aria-expanded') === 'true';
    open.setAttribute('aria-expanded', String(!isOpen));
    if (isOpen) row.nextSibling.remove();
    else row.after(el('tr', { class: 'details' }, el('td', { colspan: columns.length }, caseDetails(c))));
  } }, el('td', {}, statusMark(c.status)), el('td', { class: 'token' }, open), ratioCell(c.fp32), ratioCell(c.o),
    el('td', { class: 'n' }, shareText(c.tokens)), el('td', { class: 'n' }, short(c.ms)));
  return row;
}

function drawCases() {
  const list = selected();
  drawHead();
  byId('case-table').tBodies[0].replaceChildren(...list.slice(0, view.rows).map(caseRow));
  const more = Math.min(rowsAtOnce, list.length - view.rows);
  byId('more').hidden = more <= 0;
  byId('more').textContent = `Show ${more} more`;
  byId('count').textContent = `${list.length} of ${cases.length} cases${list.length > view.rows ? `, the first ${view.rows} shown` : ''}`;
  const also = view.bucket ? `in bucket ${view.bucket}` : view.cell ? `${view.cell.kernel}, ${view.cell.distribution}, ${lengthClasses[view.cell.place].name} tokens` : '';
  byId('also').replaceChildren(...(also ? [`Only ${also}. `, el('button', { type: 'button', click: () => { view.bucket = ''; view.cell = null; refilter(); } }, 'All')] : []));
  markCell(view.cell);
}

function refilter() {
  view.rows = rowsAtOnce;
  drawCases();
}

// From elsewhere on the page: only those, and go there.
function showCases({ match = '', status = '', bucket = '', cell = null }) {
  Object.assign(view, { match, status, bucket, cell });
  byId('match').value = match;
  byId('status').value = status;
  refilter();
  byId('cases').scrollIntoView();
}

function termRows(terms) {
  const sum = terms.reduce((total, term) => total + term.value, 0);
  return el('div', { class: 'share' }, ...terms.flatMap((term) => {
    const share = sum > 0 ? term.value / sum : 0;
    const bar = el('span', { class: 'bar', 'aria-hidden': 'true' });
    bar.style.width = `${(100 * share).toFixed(1)}%`;
    return [el('span', {}, term.name), el('span', {}, short(term.value)), el('span', {}, `${(100 * share).toFixed(1)} %`), el('span', {}, bar)];
  }));
}

function worstTable(worst) {
  const rows = worst.map((w) => el('tr', { class: isOver(w.ratio) ? 'wrong' : undefined }, el('th', { scope: 'row' }, el('code', {}, w.tensor)),
    el('td', {}, placeText(w)),
    el('td', { class: 'n' }, exact(w.actual), el('br'), el('code', {}, bitsText(w, w.actualBits))),
    el('td', { class: 'n' }, exact(w.expected), el('br'), el('code', {}, bitsText(w, w.expectedBits))),
    el('td', { class: 'n' }, short(w.error)), el('td', { class: 'n' }, short(w.bound)),
    el('td', { class: 'n ratio' }, `${isOver(w.ratio) ? '\u2715 ' : ''}${short(w.ratio)}`), el('td', {}, w.tier)));
  return el('div', { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': 'worst elements' },
    el('table', { class: 'worst' }, headRow('worst of', 'at', 'actual', 'expected', 'error', 'bound', 'ratio', 'gate'), el('tbody', {}, ...rows)));
}

function facts(d, c) {
  const e = d.evidence;
  const range = ([from, to]) => `${short(from)} to ${short(to)}`;
  return [
    ['blame', d.blame], ['source', d.source], ['bucket', c.bucket],
    ['judged', `${d.checked.toLocaleString('en')} elements, ${d.wrong.toLocaleString('en')} wrong${d.schedules > 1 ? `; ${d.schedules} schedules` : ''}`],
    ['ran', `${short(c.ms)} ms, ${short(d.kernelMs)} ms in the kernel${d.tries > 1 ? `; ${d.tries} processes` : ''}${d.phase ? `; as part of ${d.phase}` : ''}`],
    ['sees', c.tokens < 0 ? '' : `tokens ${shareText(c.tokens)}, pages ${shareText(c.pages)}, splits ${shareText(c.splits)}; a lost weight of ${short(e.smallestWeight)} would be noticed`],
    ['data', `logits ${range(e.logits)}; effective tokens of a row ${range(e.nEff)}; condition ${short(e.condition)}; mass of P flushed ${short(e.flushMass)}`],
    ['o in bits', `${short(100 * e.mismatch)} % not as the emulated reference; ${e.certified} rows recomputed by the second oracle`],
    ['rejected', e.strawmen.join(', ')], ['scores', e.scores.map((s) => `${s.filter} ${short(s.z)} sigma`).join(', ')],
    ['remarks', d.remarks.join('; ')], ['contract', d.contract],
  ].filter(([, text]) => text);
}

function caseDetails(c) {
  const again = c.again ? el('code', {}, c.again) : 'no command is given, as a shell would run a part of its text';
  const inside = el('div', { class: 'inside' }, el('div', { class: 'again' }, again, copyButton(c.again)));
  const d = detailsOf(c.packed);
  if (!d) {
    inside.append(el('p', { class: 'muted' }, 'So large a run keeps the elements, terms and evidence of this case in results.jsonl alone; the command above shows them.'));
    return inside;
  }
  if (d.reason) inside.append(el('p', { class: 'reason' }, d.reason));
  if (d.worst.length > 0) inside.append(worstTable(d.worst));
  for (const w of d.worst.filter((one) => one.terms.length > 0)) {
    inside.append(el('h4', {}, `Terms of the bound of ${w.tensor}${w.tier ? `, ${w.tier}` : ''}`), termRows(w.terms));
  }
  inside.append(el('dl', {}, ...facts(d, c).flatMap(([name, text]) => [el('dt', {}, name), el('dd', {}, text)])));
  return inside;
}

function startCases() {
  const present = statuses.filter((status) => cases.some((c) => c.status === status));
  byId('status').replaceChildren(el('option', { value: '' }, 'any'), ...[...present, notPassed].map((status) => el('option', { value: status }, status)));
  byId('match').addEventListener('input', (event) => { view.match = event.target.value.trim(); refilter(); });
  byId('status').addEventListener('change', (event) => { view.status = event.target.value; refilter(); });
  byId('filter').addEventListener('submit', (event) => event.preventDefault());
  byId('clear').addEventListener('click', () => {
    Object.assign(view, { match: '', status: '', bucket: '', cell: null });
    byId('filter').reset();
    refilter();
  });
  byId('more').addEventListener('click', () => { view.rows += rowsAtOnce; drawCases(); });
  drawCases();
}
