// Makes the pictures of packages/server/assets: card.png, which other sites show beside a link, favicon.ico, and the icons of the
// installed page for approvals. npx node tools/demo/card.ts
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { findChromium, launch } from '../../packages/web/test/browser.ts'
import { designSheet, ownTexts } from '../../packages/server/src/website/branding.ts'

const assets = join(import.meta.dirname, '../../packages/server/assets')
const cardBytesMax = 102_400

const mark = `<svg class="mark" viewBox="0 0 32 32"><circle cx="16" cy="16" r="13"/><path d="M10 16l4 5 8-10"/></svg>`
const markStyle = `.mark{fill:none;stroke:var(--seal);stroke-width:3;stroke-linecap:round;stroke-linejoin:round}`
/** The module without its exports, so that a page without an address can run it. */
const sealScript = readFileSync(join(assets, 'seal.js'), 'utf8').replaceAll('export const', 'const')

const cardPage = `<!doctype html><html lang="en"><meta charset="utf-8"><title>Card</title><style>${designSheet}
${markStyle}
body{width:1200px;height:630px;display:grid;grid-template-columns:1fr 300px;gap:56px;align-items:center;padding:0 72px}
h1{font-size:62px;line-height:1.1}
.named{display:flex;gap:18px;align-items:center;font-size:36px;font-weight:650;margin-bottom:40px}
.named .mark{width:52px}
.seal .boss{fill:var(--paper)}</style>
<div><p class="named">${mark}${ownTexts.name}</p><h1>${ownTexts.headline}</h1></div><span class="emblem ok" id="seal"></span>
<script>${sealScript}
const bytes = Uint8Array.from({ length: 32 }, (_, index) => (index * 73 + 41) % 256)
document.getElementById('seal').append(drawSeal(bytes, 1))</script></html>`

const iconPage = `<!doctype html><html lang="en"><meta charset="utf-8"><title>Icon</title><style>${designSheet}
${markStyle}
body{background:transparent;width:32px;height:32px}.mark{display:block;width:32px}</style>${mark}</html>`

/** An icon of an installed page. A maskable one keeps the mark within the circle that every shape of icon shows. */
const appIconPage = (size: number, isMaskable: boolean): string =>
  `<!doctype html><html lang="en"><meta charset="utf-8"><title>Icon</title><style>${designSheet}
${markStyle}
body{background:${isMaskable ? 'var(--paper)' : 'transparent'};width:${size}px;height:${size}px;display:grid;place-items:center}
.mark{width:${isMaskable ? size * 0.6 : size}px}</style>${mark}</html>`

/** Name, pixels, and whether the system may cut it to any shape. */
const appIcons = [
  ['icon-192.png', 192, false],
  ['icon-512.png', 512, false],
  ['icon-maskable.png', 512, true],
] as const
const appIconBytesMax = 24_576

type Page = Awaited<ReturnType<Awaited<ReturnType<typeof launch>>['newPage']>>
const drawAppIcons = async (page: Page): Promise<void> => {
  for (const [name, size, isMaskable] of appIcons) {
    await page.setViewportSize({ width: size, height: size })
    await page.setContent(appIconPage(size, isMaskable))
    const picture = await page.screenshot({ omitBackground: !isMaskable })
    if (picture.length > appIconBytesMax)
      throw new Error(`${name} has ${picture.length} bytes; ${appIconBytesMax} is the most`)
    writeFileSync(join(assets, name), picture)
    console.log(`${name} ${picture.length} bytes`)
  }
}

/** An icon file that holds one PNG of 32 by 32 pixels. */
const iconOf = (png: Buffer): Buffer => {
  const head = Buffer.alloc(22)
  // Type 1 is an icon; there is one picture.
  head.writeUInt16LE(1, 2)
  head.writeUInt16LE(1, 4)
  head.writeUInt8(32, 6)
  head.writeUInt8(32, 7)
  // Planes and bits of a pixel, bytes of the picture, and where it begins.
  head.writeUInt16LE(1, 10)
  head.writeUInt16LE(32, 12)
  head.writeUInt32LE(png.length, 14)
  head.writeUInt32LE(head.length, 18)
  return Buffer.concat([head, png])
}

const chromium = findChromium()
if ('missing' in chromium) throw new Error(chromium.missing)
const browser = await launch(chromium.path)
try {
  const context = await browser.newContext({ viewport: { width: 1200, height: 630 }, colorScheme: 'light' })
  const page = await context.newPage()
  await page.setContent(cardPage)
  const card = await page.screenshot()
  if (card.length > cardBytesMax)
    throw new Error(`the card has ${card.length} bytes; ${cardBytesMax} is the most`)
  await page.setViewportSize({ width: 32, height: 32 })
  await page.setContent(iconPage)
  const icon = iconOf(await page.screenshot({ omitBackground: true }))
  writeFileSync(join(assets, 'card.png'), card)
  writeFileSync(join(assets, 'favicon.ico'), icon)
  await drawAppIcons(page)
  console.log(`card.png ${card.length} bytes, favicon.ico ${icon.length} bytes`)
} finally {
  await browser.close()
}
