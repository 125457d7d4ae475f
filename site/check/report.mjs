// Opens what `punctual report` writes in a browser as a user does, and looks whether it keeps
// what it promises.
//
//   node report.mjs PAGE KEPT CHROMIUM [SCREENSHOTS]
//
// PAGE is of what was measured just now, KEPT of what is known: what single marks say.

import assert from 'node:assert/strict';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { fits, isAccessible, launch, looks, open, openAll, run } from './browser.mjs';

const [page, kept, executablePath, screenshots] = process.argv.slice(2);
const url = pathToFileURL(page).href;
const known = pathToFileURL(kept).href;
const browser = await launch(executablePath);

await run(browser, 'report', {
  async 'small, answers first, no figure is empty'() {
    assert.ok(statSync(page).size < 1_000_000);
    const tab = await open(browser, url);
    assert.ok((await tab.locator('.answer p').first().boundingBox()).y < 400);
    const figures = tab.locator('figure svg');
    assert.ok((await figures.count()) > 10);
    for (const svg of await figures.all()) {
      const drawn = await svg.evaluate((one) => one.querySelectorAll('[data-s] *, [data-v] *').length);
      assert.ok(drawn > 0, await svg.getAttribute('aria-label'));
    }
    for (const link of await tab.locator('.answer a').all()) {
      assert.equal(await tab.locator(await link.getAttribute('href')).count(), 1);
    }
    await tab.context().close();
  },

  async 'under the pointer is what a mark and a line stand for'() {
    const tab = await open(browser, known);
    const said = async (place) => {
      await place.scrollIntoViewIfNeeded();
      const { x, y, width, height } = await place.boundingBox();
      await tab.mouse.move(x + width / 2, y + height / 2);
      return tab.textContent('#value');
    };
    const cost = tab.locator('svg', { hasText: 'Lateness against CPU time at 1000 Hz' });
    const mark = cost.locator('[data-s="system"] [data-v]');
    assert.match(await said(mark), /^system\nCPU time billed \(%\): [\d.]+\nlateness: [\d.]+ us$/);
    assert.ok(await tab.isVisible('#value'));
    const tail = tab.locator('svg', { hasText: 'Waits that were later than so much at 1000 Hz' });
    const curve = tail.locator('[data-s="spin_sleep"] [data-c]');
    await tail.scrollIntoViewIfNeeded();
    const [x, y] = await curve.evaluate((group) => {
      const line = group.querySelector('polyline');
      const { x, y } = line.points[line.points.length >> 1].matrixTransform(line.getScreenCTM());
      return [x, y];
    });
    await tab.mouse.move(x, y);
    assert.match(await tab.textContent('#value'), /\n[\d.]+ [num]s, [\d.]+$/);
    await tab.mouse.move(1, 1);
    assert.ok(!(await tab.isVisible('#value')));
    await tab.context().close();
  },

  async 'the legend hides and shows, with the mouse and with the keyboard'() {
    const tab = await open(browser, known);
    const tail = tab.locator('svg', { hasText: 'Waits that were later than so much at 1000 Hz' });
    const entry = tail.locator('[data-l="system"][tabindex]');
    const drawn = tail.locator('[data-s="system"]');
    assert.ok(await drawn.isVisible());
    await entry.click();
    assert.ok(!(await drawn.isVisible()));
    assert.equal(await entry.getAttribute('aria-pressed'), 'false');
    await entry.press('Enter');
    assert.ok(await drawn.isVisible());
    await tab.context().close();
  },

  async 'without scripts all of it can be read'() {
    const tab = await open(browser, url, { javaScriptEnabled: false });
    assert.ok(await tab.locator('.answer p').first().isVisible());
    assert.ok(await tab.locator('figure svg').first().isVisible());
    const numbers = tab.locator('details').first();
    await numbers.locator('summary').click();
    assert.ok(await numbers.locator('table, pre').first().isVisible());
    await tab.context().close();
  },

  async 'narrow and wide, light and dark, and on paper: it fits, and nothing that axe finds serious'() {
    for (const [width, colorScheme] of looks) {
      const tab = await open(browser, url, { viewport: { width, height: 900 }, colorScheme });
      if (screenshots) await tab.screenshot({ path: join(screenshots, `report-${width}-${colorScheme}.png`), fullPage: true });
      await isAccessible(tab, `at ${width}, ${colorScheme}`);
      await openAll(tab);
      await fits(tab, `opened, at ${width}, ${colorScheme}`);
      await tab.context().close();
      // Of as many open tables as in the other, axe would think for minutes.
      const small = await open(browser, known, { viewport: { width, height: 900 }, colorScheme });
      await openAll(small);
      await isAccessible(small, `the kept one opened, at ${width}, ${colorScheme}`);
      await small.context().close();
    }
    const tab = await open(browser, url);
    const pdf = await tab.pdf();
    assert.ok(pdf.length > 10_000);
    if (screenshots) (await import('node:fs')).writeFileSync(join(screenshots, 'report.pdf'), pdf);
    await tab.context().close();
  },
});
