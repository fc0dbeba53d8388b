// The run's data (data.cpp writes it, in this order), and how it is said. Texts of a run reach the page through
// textContent alone, so that none of them is taken for HTML.
'use strict';

const data = JSON.parse(document.getElementById('data').textContent);
const byId = (id) => document.getElementById(id);

// JSON has no infinity and no NaN: they are texts.
function number(value) {
  if (typeof value !== 'string') return value;
  if (value === 'inf') return Infinity;
  return value === '-inf' ? -Infinity : NaN;
}

const word = (place) => data.words[place];

function worstOf(w) {
  const terms = [];
  for (let i = 0; i < w[14].length; i += 2) terms.push({ name: word(w[14][i]), value: number(w[14][i + 1]) });
  return {
    tensor: word(w[0]), tier: word(w[1]), sequence: w[2], query: w[3], head: w[4], split: w[5], column: w[6],
    actual: number(w[7]), expected: number(w[8]), actualBits: w[9], expectedBits: w[10],
    error: number(w[11]), bound: number(w[12]), ratio: number(w[13]), terms,
  };
}

function evidenceOf(e) {
  const scores = [];
  for (let i = 0; i < e[10].length; i += 2) scores.push({ filter: word(e[10][i]), z: number(e[10][i + 1]) });
  return {
    logits: [number(e[0]), number(e[1])], nEff: [number(e[2]), number(e[3])], flushMass: number(e[4]),
    condition: number(e[5]), smallestWeight: number(e[6]), mismatch: number(e[7]), certified: e[8],
    strawmen: e[9].map(word), scores,
  };
}

// What only an open row shows; undefined where the page has it not.
function detailsOf(d) {
  return d && {
    reason: d[0], blame: d[1], source: d[2], contract: word(d[3]), brokenTier: word(d[4]), checked: d[5], wrong: d[6],
    schedules: d[7], tries: d[8], phase: word(d[9]), kernelMs: number(d[10]), worst: d[11].map(worstOf),
    evidence: evidenceOf(d[12]), remarks: d[13],
  };
}

const cases = data.cases.map((row, order) => ({
  order, token: row[0], status: word(row[1]), kernel: word(row[2]), distribution: word(row[3]), longest: row[4],
  fp32: number(row[5]), o: number(row[6]), tokens: row[7], pages: row[8], splits: row[9], ms: row[10],
  bucket: word(row[11]), again: row[12], packed: row[13],
}));

// Worst first; the order of the menu of statuses too.
const statuses = ['failed', 'crashed', 'hung', 'flaky', 'xpass', 'infra', 'suspect', 'vacuous', 'skipped', 'xfail', 'passed'];

// el('td', {class: 'n'}, 'text', child): functions become listeners.
function el(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === undefined || value === false) continue;
    if (typeof value === 'function') element.addEventListener(key, value);
    else element.setAttribute(key, value === true ? '' : value);
  }
  element.append(...children.filter((child) => child !== undefined && child !== ''));
  return element;
}

function statusMark(status) {
  return el('span', { class: `status ${status}` }, el('i', { 'aria-hidden': 'true' }, data.shapes[status] || '?'), ` ${status}`);
}

// "0.86", "1.2e-5", "\u221e": three digits.
function short(value) {
  if (Number.isNaN(value)) return 'NaN';
  if (!Number.isFinite(value)) return value > 0 ? '\u221e' : '\u2212\u221e';
  if (value === 0) return '0';
  const size = Math.abs(value);
  return size >= 1e5 || size < 1e-3 ? value.toExponential(2).replace('e+', 'e') : String(Number(value.toPrecision(3)));
}
const ratioText = (ratio) => (ratio < 0 ? '\u2013' : short(ratio));
const shareText = (share) => (share < 0 ? '\u2013' : `${Math.floor(100 * share)}\u00a0%`);
// NaN is wrong too.
const isOver = (ratio) => !(ratio <= 1);

function exact(value) {
  return Number.isFinite(value) ? String(Number(value.toPrecision(9))) : short(value);
}
function bitsText(worst, bits) {
  const isFp32 = worst.tensor === 'lse' || worst.tensor === 'partial_lse' || Math.max(worst.actualBits, worst.expectedBits) > 0xffff;
  return `0x${bits.toString(16).padStart(isFp32 ? 8 : 4, '0')}`;
}
function placeText(worst) {
  let text = `sequence ${worst.sequence}, query token ${worst.query}, head ${worst.head}`;
  if (worst.split >= 0) text += `, split ${worst.split}`;
  if (worst.column >= 0) text += `, column ${worst.column}`;
  return text;
}

// Of a token with which a shell would do more there is no command.
function copyButton(command) {
  return command && el('button', { type: 'button', class: 'copy', 'data-copy': command, 'aria-label': 'copy the command that sees it again' }, 'Copy');
}

function headRow(...names) {
  return el('thead', {}, el('tr', {}, ...names.map((name) => el('th', { scope: 'col' }, name))));
}
