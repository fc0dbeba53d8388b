"""page_test.py PAGES_FOR_TEST RESULTS: the HTML page in a headless Chromium. Exit code 77, which ctest shows as
skipped, where there is none. Each test is a function of a fresh page; its name is the claim."""
import json
import subprocess
import sys
import tempfile
import traceback

import webdriver

WIDTH, HEIGHT = 1280, 900
LOADED = "document.documentElement.dataset.ready === 'yes'"
TOKENS = "[...document.querySelectorAll('#case-table tr.case .token code')].map((e) => e.textContent)"

# The least contrast of a text with what is behind it, by WCAG 2: [ratio, text].
LEAST_CONTRAST = """(() => {
  const rgb = (text) => { const n = text.match(/[\\d.]+/g).map(Number); return n.length < 4 ? [...n, 1] : n; };
  const light = (c) => c.slice(0, 3).map((v) => v / 255).map((v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = (e) => { for (; e; e = e.parentElement) { const c = rgb(getComputedStyle(e).backgroundColor); if (c[3] === 1) return c; }
    return [255, 255, 255, 1]; };
  let least = [99, ''];
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const e = walk.currentNode.parentElement;
    if (!walk.currentNode.textContent.trim() || !e.checkVisibility({ opacityProperty: true }) || e.closest('script, option')) continue;
    const [a, b] = [light(rgb(getComputedStyle(e).color)), light(behind(e))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < least[0]) least = [ratio, `${e.tagName}.${e.className}: ${walk.currentNode.textContent.slice(0, 40)}`];
  }
  return least;
})()"""

# Has a canvas pixels of more than one colour?
DRAWN = """((id) => {
  const canvas = document.getElementById(id);
  const pixels = new Uint32Array(canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data.buffer);
  return new Set(pixels).size > 3;
})(arguments[0])"""


def equal(got, wanted):
    assert got == wanted, f"{got!r} is not {wanted!r}"


class Page:
    """A page that is open in the browser."""

    def __init__(self, browser, folder, tokens):
        self.browser, self.folder, self.tokens = browser, folder, tokens

    def open(self, name, width=WIDTH, height=HEIGHT, dark=False):
        b = self.browser
        b.devtools("Emulation.setEmulatedMedia",
                   features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"},
                             {"name": "prefers-reduced-motion", "value": "reduce"}])
        b.size(width, height)
        b.console()
        b.open("about:blank")
        b.open(f"file://{self.folder}/{name}.html")
        assert b.wait(LOADED), "the page's scripts do not end"
        return b


def test_the_console_stays_empty_on_every_page(page):
    for name in ("results", "trend", "large", "hostile"):
        equal(page.open(name).console(), [])


def test_nothing_but_the_file_is_asked_for(page):
    b = page.open("results")
    urls = b.run("[...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')].map((e) => e.name)")
    equal([url for url in urls if not url.startswith(("file:", "data:"))], [])
    equal(len([url for url in urls if url.startswith("file:")]), 1)


def test_every_case_has_a_row_and_the_worst_come_first(page):
    b = page.open("results")
    equal(sorted(b.run(TOKENS)), sorted(page.tokens))
    equal(b.run("document.querySelector('#case-table tr.case .status').textContent.trim().split(' ').pop()"), "failed")
    equal(b.run("byId('count').textContent"), f"{len(page.tokens)} of {len(page.tokens)} cases")


def test_a_filter_by_a_part_of_the_token_narrows_the_rows_and_back(page):
    b = page.open("results")
    b.type("#match", "needles")
    wanted = [t for t in page.tokens if "needles" in t]
    assert 0 < len(wanted) < len(page.tokens)
    assert b.wait(f"{TOKENS}.length === arguments[0]", len(wanted))
    equal(sorted(b.run(TOKENS)), sorted(wanted))
    b.click("#clear")
    assert b.wait(f"{TOKENS}.length === arguments[0]", len(page.tokens))
    equal(b.run("byId('match').value"), "")


def test_a_filter_with_a_star_is_a_glob_over_the_whole_token(page):
    b = page.open("results")
    for glob, holds in (("v1:*dist=needles", lambda t: t.startswith("v1:") and t.endswith("dist=needles")),
                        ("*h=1?:*", lambda t: any(f"h=1{d}:" in t for d in "0123456789")),
                        ("*h=[2-9]*", lambda t: any(f"h={d}" in t for d in "23456789")),
                        ("*h=[!1]*", lambda t: any(f"h={d}" in t for d in "23456789"))):
        b.click("#clear")
        b.type("#match", glob)
        equal(sorted(b.run(TOKENS)), sorted(t for t in page.tokens if holds(t)))
    b.click("#clear")
    b.type("#match", "(")
    equal(b.run(TOKENS), [])


def test_a_status_shows_its_cases_alone(page):
    b = page.open("results")
    statuses = b.run("[...byId('status').options].map((o) => o.value)")
    for status in ("failed", "passed", "crashed", "hung", "flaky", "xpass", "infra", "suspect", "vacuous", "skipped", "xfail"):
        assert status in statuses, status
        b.click(f"#status option[value='{status}']")
        equal(b.run("[...new Set(cases.filter((c) => c.status === arguments[0]).map((c) => c.token))].sort()", status), sorted(b.run(TOKENS)))
        assert b.run(TOKENS)
    b.click("#status option[value='all but passed']")
    equal(len(b.run(TOKENS)), b.run("cases.filter((c) => c.status !== 'passed').length"))


def test_a_column_sorts_both_ways(page):
    b = page.open("results")
    b.click("[data-sort='token']")
    equal(b.run(TOKENS), sorted(page.tokens))
    equal(b.run("document.querySelector('[data-sort=token]').parentElement.getAttribute('aria-sort')"), "ascending")
    b.click("[data-sort='token']")
    equal(b.run(TOKENS), sorted(page.tokens, reverse=True))


def test_a_cell_of_the_matrix_shows_its_cases(page):
    b = page.open("results")
    b.run("document.querySelector('.cell.over').click()")
    cell = b.run("document.querySelector('.cell.over').dataset.key")
    equal(b.run("[...new Set(selected().map((c) => cellKey({ kernel: c.kernel, distribution: c.distribution, place: lengthClass(c.longest) })))]"), [cell])
    equal(b.run("document.querySelectorAll('.cell[aria-pressed=true]').length"), 1)
    b.click("#also button")
    equal(len(b.run(TOKENS)), len(page.tokens))


def test_a_bucket_shows_its_cases(page):
    b = page.open("results")
    bucket = b.run("document.querySelector('.only-bucket').dataset.bucket")
    b.run("document.querySelector('.only-bucket').click()")
    equal(sorted(b.run(TOKENS)), sorted(b.run("cases.filter((c) => c.bucket === arguments[0]).map((c) => c.token)", bucket)))


def test_the_copy_button_copies_the_command(page):
    b = page.open("results")
    b.devtools("Browser.grantPermissions", permissions=["clipboardReadWrite", "clipboardSanitizedWrite"])
    b.run("document.querySelector('.copy').scrollIntoView({ block: 'center' })")
    wanted = b.run("document.querySelector('.again code').textContent")
    assert wanted.startswith("./attest repro 'v1:k="), wanted
    b.click(".copy")
    assert b.wait("byId('said').textContent === arguments[0]", f"copied: {wanted}"), b.run("byId('said').textContent")
    equal(b.call("POST", "/execute/async", {
        "script": "const done = arguments[0]; navigator.clipboard.readText().then(done, (e) => done(String(e)));", "args": []}), wanted)


def test_without_a_clipboard_it_copies_by_a_selection(page):
    b = page.open("results")
    b.run("void Object.defineProperty(navigator, 'clipboard', { value: undefined })")
    b.run("document.addEventListener('copy', () => { window.copiedText = document.activeElement.value; })")
    b.run("document.querySelector('.copy').scrollIntoView({ block: 'center' })")
    wanted = b.run("document.querySelector('.again code').textContent")
    b.click(".copy")
    assert b.wait("byId('said').textContent === arguments[0]", f"copied: {wanted}"), b.run("byId('said').textContent")
    equal(b.run("window.copiedText"), wanted)
    equal(b.run("document.activeElement.className"), "copy")


def test_a_row_opens_by_the_keyboard_with_its_reason_and_terms(page):
    b = page.open("results")
    b.type("#match", "v1:k=mla_decode:h=128:s=200:splits=1")
    b.run("document.querySelector('#case-table .open').focus()")
    b.call("POST", "/actions", {"actions": [{"type": "key", "id": "k", "actions": [
        {"type": "keyDown", "value": "\ue007"}, {"type": "keyUp", "value": "\ue007"}]}]})
    assert b.wait("Boolean(document.querySelector('.details'))")
    equal(b.run("document.querySelector('#case-table .open').getAttribute('aria-expanded')"), "true")
    text = b.run("document.querySelector('.details').textContent")
    for part in ("lse wrong at sequence 0", "0x40b881c2", "Q.K accumulation", "scores and softmax", "matrix_unit="):
        assert part in text, part
    shares = b.run("[...document.querySelectorAll('.share > :nth-child(4n + 3)')].map((e) => parseFloat(e.textContent))")
    assert abs(sum(shares) - 100) < 1, shares


def test_dark_and_light_by_the_system_and_by_the_button(page):
    paper = "getComputedStyle(document.body).backgroundColor"
    b = page.open("results", dark=True)
    dark = b.run(paper)
    b.click("#theme")
    light = b.run(paper)
    assert dark != light
    equal(page.open("results").run(paper), light)
    page.browser.click("#theme")
    equal(page.browser.run(paper), dark)
    # Kept for the next page; a system that is light does not change that.
    equal(page.open("trend").run(paper), dark)
    page.browser.run("localStorage.clear()")
    equal(page.open("trend").run(paper), light)


def test_text_has_contrast_in_both_themes(page):
    for dark in (False, True):
        b = page.open("trend", dark=dark)
        b.run("document.querySelectorAll('#case-table .open').forEach((e, i) => { if (i < 3) e.click(); })")
        b.run("document.querySelectorAll('details').forEach((e) => { e.open = true; })")
        # Shades that this run has no use for.
        b.run("document.querySelector('.heat tr:last-child').append(...[0, 1, 2, 3, 4].map((level) => el('td', { class: `h${level}` }, 'x')))")
        b.run("document.querySelector('#matrix-table td').append(el('button', { class: 'cell near' }, 'x'))")
        ratio, where = b.run(LEAST_CONTRAST)
        assert ratio >= 4.5, f"{'dark' if dark else 'light'}: {ratio:.2f} at {where}"


def test_a_phone_does_not_scroll_sideways(page):
    for name in ("results", "trend", "hostile"):
        b = page.open(name, 375, 812)
        b.run("document.querySelectorAll('#case-table .open').forEach((e, i) => { if (i < 3) e.click(); })")
        b.run("document.querySelectorAll('details').forEach((e) => { e.open = true; })")
        equal(b.run("innerWidth"), 375)
        assert b.run("document.documentElement.scrollWidth") <= 375, name


def test_the_charts_are_drawn(page):
    b = page.open("trend")
    for canvas in ("scatter", "by-ratio", "by-ulp", "trend-chart"):
        assert b.run(DRAWN, canvas), canvas
    before = b.run("byId('by-ratio').toDataURL()")
    b.click("#spread-of option:last-child")
    assert b.run("byId('by-ratio').toDataURL() !== arguments[0]", before)
    before = b.run("byId('scatter').toDataURL()")
    b.click("#scatter-of option[value='o']")
    assert b.run("byId('scatter').toDataURL() !== arguments[0]", before)


def test_a_failure_has_a_map_of_its_faults_in_numbers(page):
    b = page.open("results")
    heads = b.run("[...document.querySelectorAll('.bucket .heat')].map((e) => e.querySelector('caption').textContent)")
    assert any(h.startswith("lse: 32 wrong") for h in heads), heads
    cells = b.run("[...document.querySelector('.heat').querySelectorAll('td')].map((e) => e.textContent)")
    equal(sum(int(c) for c in cells if c.isdigit()), 32)


def test_the_trend_names_the_night_of_a_change_and_of_a_failure(page):
    b = page.open("trend")
    notes = b.run("byId('trend-notes').textContent")
    assert "2026-11-12: the level changed" in notes and "2026-11-21: 3 of 412 cases failed" in notes, notes
    assert "scores.wrong.scattered.mla_decode" in b.run("document.querySelector('#trend table').textContent")
    assert "--history FILE" in page.open("results").run("byId('trend').textContent")


def test_a_large_run_draws_its_first_rows_and_counts_all(page):
    b = page.open("large")
    equal(len(b.run(TOKENS)), 200)
    equal(b.run("byId('count').textContent"), "20000 of 20000 cases, the first 200 shown")
    b.click("#more")
    equal(len(b.run(TOKENS)), 400)
    b.type("#match", "seed=1999")
    equal(b.run("byId('count').textContent"), f"{b.run('cases.filter((c) => c.token.includes(arguments[0])).length', 'seed=1999')} of 20000 cases")


def test_texts_of_a_run_are_never_html(page):
    b = page.open("hostile")
    b.run("document.querySelectorAll('#case-table .open').forEach((e) => e.click())")
    equal(b.run("document.querySelectorAll('img').length"), 0)
    assert "attest" in b.run("document.title")
    equal(b.run("[...document.querySelectorAll('#case-table .token code')].every((e) => e.textContent.includes('<img src=x'))"), True)


def test_without_scripts_the_verdict_and_the_buckets_are_there(page):
    b = page.browser
    b.devtools("Emulation.setScriptExecutionDisabled", value=True)
    try:
        b.open("about:blank")
        b.open(f"file://{page.folder}/results.html")
        text = b.call("GET", f"/element/{b.find('body')}/text")
        for part in ("Exit code 1", "scores.wrong.scattered.mla_decode", "need JavaScript"):
            assert part in text, part
        assert "All cases" not in text
    finally:
        b.devtools("Emulation.setScriptExecutionDisabled", value=False)


def tokens_of(results):
    ends = {}
    with open(results, encoding="utf-8", errors="replace") as lines:
        for line in lines:
            try:
                record = json.loads(line)
            except ValueError:
                continue
            if record["record"] == "case_end":
                ends[record.get("planned", record["token"])] = record["token"]
    return list(ends.values())


def main(program, results):
    if lacks := webdriver.missing():
        print(f"skipped: {lacks}")
        return 77
    failed = 0
    with tempfile.TemporaryDirectory(prefix="attest-pages-") as folder, webdriver.Browser(WIDTH, HEIGHT) as browser:
        subprocess.run([program, results, folder], check=True)
        page = Page(browser, folder, tokens_of(results))
        for name, test in [(n, t) for n, t in globals().items() if n.startswith("test_")]:
            try:
                test(page)
                print(f"ok      {name}")
            except (AssertionError, RuntimeError, OSError):
                failed += 1
                print(f"FAILED  {name}")
                traceback.print_exc(file=sys.stdout)
    print(f"{failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    sys.exit(main(*sys.argv[1:]))
