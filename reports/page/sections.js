// Histograms, visibility and the trend.

// The bins of Spread in harness/core/verdict.hpp.
const ratioLabels = Array.from({ length: 18 }, (_, i) => {
  if (i === 0) return '0';
  if (i === 17) return '> 16';
  return i > 11 ? `\u2264 ${2 ** (i - 12)}` : `\u2264 1/${2 ** (12 - i)}`;
});
const firstOverBound = 13;
const ulpLabels = Array.from({ length: 18 }, (_, i) => {
  if (i <= 2) return String(i);
  if (i === 17) return '> 32768';
  return `${2 ** (i - 2) + 1}\u2013${2 ** (i - 1)}`;
});

function drawSpread(spread) {
  const [kernel, tensor, sampled, byRatio, byUlp] = spread;
  const over = byRatio.slice(firstOverBound).reduce((a, b) => a + b, 0);
  byId('spread-count').textContent = `${sampled} elements of ${word(tensor)} of ${word(kernel)}, ${over} over the bound`;
  setChart('by-ratio', () => histogramConfig(ratioLabels, byRatio, firstOverBound));
  setChart('by-ulp', () => histogramConfig(ulpLabels, byUlp, Infinity));
  const rows = ratioLabels.map((label, i) => el('tr', {}, el('td', {}, label), el('td', { class: 'n' }, String(byRatio[i])),
    el('td', {}, ulpLabels[i]), el('td', { class: 'n' }, String(byUlp[i]))));
  byId('spread-table').replaceChildren(headRow('error / bound', 'elements', 'ulp', 'elements'), el('tbody', {}, ...rows));
}

function drawHistograms() {
  const select = byId('spread-of');
  if (data.spreads.length === 0) {
    byId('histograms').replaceChildren(byId('h-histograms'), el('p', { class: 'empty' }, 'No element was judged.'));
    return;
  }
  data.spreads.forEach((s, i) => select.append(el('option', { value: i }, `${word(s[1])} of ${word(s[0])}`)));
  select.addEventListener('change', () => drawSpread(data.spreads[Number(select.value)]));
  const first = data.spreads.findIndex((s) => word(s[1]) === 'lse');
  select.value = String(Math.max(first, 0));
  drawSpread(data.spreads[Math.max(first, 0)]);
}

const shareClasses = [
  { name: 'all', holds: (s) => s >= 1 }, { name: '90\u2013100 %', holds: (s) => s >= 0.9 && s < 1 },
  { name: '50\u201390 %', holds: (s) => s >= 0.5 && s < 0.9 }, { name: '10\u201350 %', holds: (s) => s >= 0.1 && s < 0.5 },
  { name: 'under 10 %', holds: (s) => s > 0 && s < 0.1 }, { name: 'none', holds: (s) => s === 0 },
  { name: 'nothing to lose', holds: (s) => s < 0 },
];

function barCell(count, of) {
  const bar = el('span', { class: 'bar', 'aria-hidden': 'true' });
  bar.style.width = `${(count > 0 ? Math.max(2, (120 * count) / of) : 0).toFixed(0)}px`;
  return el('td', { class: 'n' }, bar, ` ${count}`);
}

function drawVisibility() {
  const passed = cases.filter((c) => c.status === 'passed');
  const rows = shareClasses.map((share) => el('tr', {}, el('th', { scope: 'row' }, share.name),
    ...['tokens', 'pages', 'splits'].map((of) => barCell(passed.filter((c) => share.holds(c[of])).length, passed.length))));
  byId('visibility-table').replaceChildren(headRow('visible share', 'of tokens', 'of pages', 'of splits'), el('tbody', {}, ...rows));
  const seen = passed.filter((c) => c.tokens >= 0).sort((a, b) => a.tokens - b.tokens).slice(0, 8);
  byId('lowest-table').replaceChildren(headRow('tokens', 'pages', 'splits', 'case'), el('tbody', {}, ...seen.map((c) => el('tr', {},
    el('td', {}, shareText(c.tokens)), el('td', {}, shareText(c.pages)), el('td', {}, shareText(c.splits)),
    el('td', {}, el('button', { type: 'button', class: 'go', click: () => showCases({ match: c.token }) }, el('code', {}, c.token)))))));
}

const night = (started) => started.slice(0, 10);

const quantiles = [{ name: 'median', at: 4, dash: [] }, { name: 'p99', at: 6, dash: [7, 4] }, { name: 'largest', at: 7, dash: [2, 3] }];

function trendSets(line, scale) {
  const changed = new Set(line.changes);
  const sets = quantiles.map(({ name, at, dash }, i) => ({
    label: name, yAxisID: 'y', data: line.points.map((p) => scale.at(number(p[at]))),
    borderColor: seriesColour(i), backgroundColor: seriesColour(i), borderDash: dash, borderWidth: 1.8,
    pointStyle: line.points.map((p, night) => (changed.has(night) ? 'triangle' : ['circle', 'rect', 'rectRot'][i])),
    pointRadius: line.points.map((p, night) => (changed.has(night) ? 8 : 2.5)),
  }));
  const failed = line.points.map((p) => p[3] || null);
  if (failed.some(Boolean)) {
    sets.push({ type: 'bar', label: 'cases that failed', yAxisID: 'failed', data: failed, maxBarThickness: 14, backgroundColor: stripes(), borderColor: colour('--bad'), borderWidth: 1, pointStyle: 'rect' });
  }
  return sets;
}

// Days; where two runs share one, minutes.
function labelsOf(line) {
  const days = line.points.map((p) => night(p[0]));
  return new Set(days).size === days.length ? days : line.points.map((p) => p[0].slice(0, 16).replace('T', ' '));
}

function trendConfig(line) {
  const scale = ratioScale(line.points.flatMap((p) => quantiles.map(({ at }) => number(p[at]))), 'error / bound');
  const datasets = trendSets(line, scale);
  const scales = { x: { ticks: { maxTicksLimit: 12 } }, y: scale.axis };
  // A quarter of the height, so that the lines stay free.
  const most = Math.max(...line.points.map((p) => p[3]));
  if (most > 0) scales.failed = { position: 'right', min: 0, max: 4 * most, title: 'failed', grid: { display: false }, ticks: { precision: 0, callback: (v) => (v <= most ? v : '') } };
  return {
    type: 'line',
    plugins: [boundLine, changeLines(line.changes)],
    data: { labels: labelsOf(line), datasets },
    options: options({
      interaction: { mode: 'index', intersect: false }, scales,
      plugins: { legend: { display: true }, tooltip: { callbacks: { footer: ([item]) => trendFooter(line, item.dataIndex) } } },
    }),
  };
}
function trendFooter(line, at) {
  const [, build, count, failed] = line.points[at];
  return `${count} cases, ${failed} failed; ${build}${line.changes.includes(at) ? '; the level changed here' : ''}`;
}

function drawLine(line) {
  setChart('trend-chart', () => trendConfig(line));
  const notes = line.changes.filter((at) => at > 0 && at < line.points.length).map((at) => {
    const [before, after] = [line.points[at - 1], line.points[at]];
    return el('li', {}, `\u25b2 ${night(after[0])}: the level changed, median ${short(number(before[4]))} to ${short(number(after[4]))}, largest ${short(number(before[7]))} to ${short(number(after[7]))}; ${after[1]}`);
  });
  for (const p of line.points.filter((one) => one[3] > 0).slice(-8)) {
    notes.push(el('li', {}, `${data.shapes.failed} ${night(p[0])}: ${p[3]} of ${p[2]} cases failed; ${p[1]}`));
  }
  byId('trend-notes').replaceChildren(...(notes.length > 0 ? notes : [el('li', {}, 'No change of level, no failed case.')]));
}

function lifeRow([bucket, first, last, seen, since, count, flaky, seconds, again]) {
  const text = [night(first), night(last), since === 0 ? 'open' : `quiet for ${since} run${since === 1 ? '' : 's'}`, String(seen), String(count),
    `${short(100 * number(flaky))} %`, number(seconds) < 0 ? '\u2013' : `${short(number(seconds))} s`];
  return el('tr', {}, el('th', { scope: 'row' }, el('code', {}, bucket)), ...text.map((t) => el('td', {}, t)),
    el('td', {}, copyButton(again)));
}

function drawTrend() {
  const { lines, buckets } = data.trend;
  const body = byId('trend-body');
  if (lines.length === 0 && buckets.length === 0) {
    body.append(el('p', { class: 'empty' }, 'No history was given. With ', el('code', {}, '--history FILE'),
      ', runs are kept in that file, and the error / bound of each family and the life of each bucket are drawn here.'));
    return;
  }
  if (lines.length > 0) {
    const select = el('select', { id: 'trend-of', change: () => drawLine(lines[Number(select.value)]) },
      ...lines.map((line, i) => el('option', { value: i }, line.family)));
    body.append(el('div', { class: 'controls' }, el('label', { for: 'trend-of' }, 'Family'), select),
      el('div', { class: 'chart' }, el('canvas', { id: 'trend-chart', role: 'img', 'aria-label': 'quantiles of error / bound by night; what changed is listed below' })),
      el('ul', { id: 'trend-notes', class: 'muted' }));
    drawLine(lines[0]);
  }
  if (buckets.length === 0) return;
  const table = el('table', {}, headRow('bucket', 'first seen', 'last seen', 'now', 'runs', 'cases', 'flaky', 'until first', 'see again'),
    el('tbody', {}, ...buckets.slice(0, 200).map(lifeRow)));
  body.append(el('h3', {}, 'Lives of the buckets'), el('div', { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': 'lives of the buckets' }, table));
}
