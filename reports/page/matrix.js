// The largest ratios by kernel, data and length.

const lengthClasses = [
  { name: '0', from: 0, to: 0 }, { name: '1\u201364', from: 1, to: 64 }, { name: '65\u2013512', from: 65, to: 512 },
  { name: '513\u20134096', from: 513, to: 4096 }, { name: '4097\u201332768', from: 4097, to: 32768 },
  { name: 'over 32768', from: 32769, to: Infinity },
];
const lengthClass = (longest) => lengthClasses.findIndex((c) => longest >= c.from && longest <= c.to);

// NaN is larger than all.
const larger = (a, b) => (Number.isNaN(a) || Number.isNaN(b) ? NaN : Math.max(a, b));

// What is no element's may be wrong too: a crash has no ratio.
const wrongStatuses = new Set(['failed', 'crashed', 'hung', 'flaky', 'xpass', 'suspect']);

// kernel -> distribution -> class of length -> what is in it.
function matrixOf(list) {
  const matrix = new Map();
  for (const c of list) {
    if (!matrix.has(c.kernel)) matrix.set(c.kernel, new Map());
    const rows = matrix.get(c.kernel);
    if (!rows.has(c.distribution)) rows.set(c.distribution, new Map());
    const row = rows.get(c.distribution);
    const place = lengthClass(c.longest);
    const cell = row.get(place) || { cases: 0, wrong: 0, fp32: -1, o: -1 };
    cell.cases += 1;
    cell.wrong += wrongStatuses.has(c.status) ? 1 : 0;
    cell.fp32 = larger(cell.fp32, c.fp32);
    cell.o = larger(cell.o, c.o);
    row.set(place, cell);
  }
  return matrix;
}

function matrixCell(kernel, distribution, place, cell) {
  if (!cell) return el('td', { class: 'none' }, '\u00b7');
  const over = isOver(cell.fp32) || isOver(cell.o) || cell.wrong > 0;
  const near = !over && cell.fp32 > 0.5;
  const mark = over ? '\u2715 ' : near ? '\u25b3 ' : '';
  const what = `${cell.cases} case${cell.cases === 1 ? '' : 's'}, ${cell.wrong} wrong`;
  const button = el('button', {
    type: 'button', class: `cell${over ? ' over' : near ? ' near' : ''}`, title: what, 'aria-pressed': 'false',
    'aria-label': `${kernel} ${distribution}, ${lengthClasses[place].name} tokens: fp32 ${ratioText(cell.fp32)}, o ${ratioText(cell.o)}; ${what}`,
    click: () => showCases({ cell: { kernel, distribution, place } }),
  }, `${mark}${ratioText(cell.fp32)} `, el('span', {}, `| ${ratioText(cell.o)}`));
  button.dataset.key = cellKey({ kernel, distribution, place });
  return el('td', {}, button);
}
const cellKey = (cell) => (cell ? `${cell.kernel} ${cell.distribution} ${cell.place}` : '');

function markCell(cell) {
  for (const button of byId('matrix-table').querySelectorAll('.cell')) {
    button.setAttribute('aria-pressed', String(button.dataset.key === cellKey(cell)));
  }
}

function drawMatrix() {
  const used = [...new Set(cases.map((c) => lengthClass(c.longest)))].sort((a, b) => a - b);
  const body = el('tbody');
  for (const [kernel, rows] of matrixOf(cases)) {
    body.append(el('tr', { class: 'kernel' }, el('th', { scope: 'rowgroup', colspan: used.length + 1 }, kernel || '(no kernel)')));
    for (const [distribution, row] of [...rows].sort()) {
      body.append(el('tr', {}, el('th', { scope: 'row' }, distribution || '(unknown)'),
        ...used.map((place) => matrixCell(kernel, distribution, place, row.get(place)))));
    }
  }
  const head = headRow('data \\ longest sequence', ...used.map((place) => lengthClasses[place].name));
  byId('matrix-table').replaceChildren(head, body);
  drawScatter();
}

function drawScatter() {
  const select = byId('scatter-of');
  select.replaceChildren(el('option', { value: 'fp32' }, 'tensors of fp32'), el('option', { value: 'o' }, 'o'));
  const draw = () => setChart('scatter', () => scatterConfig(select.value));
  select.addEventListener('change', draw);
  draw();
}
