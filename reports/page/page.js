// Theme, copying, printing, and the start.

const root = document.documentElement;

// A page from a file may be refused a store; then the choice lasts as long as the page.
function stored(theme) {
  try {
    if (theme) localStorage.setItem('attest-theme', theme);
    return localStorage.getItem('attest-theme');
  } catch {
    return theme;
  }
}

const systemTheme = matchMedia('(prefers-color-scheme: dark)');
const currentTheme = () => root.dataset.theme || (systemTheme.matches ? 'dark' : 'light');

function setTheme(theme) {
  if (theme) root.dataset.theme = theme;
  byId('theme').textContent = currentTheme() === 'dark' ? 'Light' : 'Dark';
  byId('theme').setAttribute('aria-label', `change to ${currentTheme() === 'dark' ? 'light' : 'dark'} colours`);
  redrawCharts();
}

let saidUntil = 0;
function say(text) {
  byId('said').replaceChildren(el('span', {}, text));
  clearTimeout(saidUntil);
  saidUntil = setTimeout(() => byId('said').replaceChildren(), 6000);
}

// Where a browser has no clipboard for files: by a selection.
function copyBySelection(text) {
  const area = el('textarea', { readonly: true, 'aria-hidden': 'true' });
  area.value = text;
  document.body.append(area);
  area.select();
  const copied = document.execCommand('copy');
  area.remove();
  return copied;
}

async function copy(text, button) {
  let copied = true;
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    copied = copyBySelection(text);
    button.focus();
  }
  say(copied ? `copied: ${text}` : `This browser copies nothing for a file. The command: ${text}`);
}

function onClick(event) {
  const button = event.target.closest('button');
  if (!button) return;
  if (button.dataset.copy !== undefined) copy(button.dataset.copy, button);
  if (button.dataset.bucket !== undefined) showCases({ bucket: button.dataset.bucket });
}

// Paper is light.
let themeBeforePrint;
addEventListener('beforeprint', () => {
  themeBeforePrint = root.dataset.theme;
  setTheme('light');
});
addEventListener('afterprint', () => {
  if (themeBeforePrint) root.dataset.theme = themeBeforePrint;
  else delete root.dataset.theme;
  setTheme();
});

root.classList.add('scripted');
Chart.defaults.font.family = getComputedStyle(document.body).fontFamily;
document.addEventListener('click', onClick);
byId('theme').addEventListener('click', () => setTheme(stored(currentTheme() === 'dark' ? 'light' : 'dark') || currentTheme()));
systemTheme.addEventListener('change', () => setTheme());
setTheme(stored());
drawMatrix();
drawHistograms();
drawVisibility();
drawTrend();
startCases();
root.dataset.ready = 'yes';
