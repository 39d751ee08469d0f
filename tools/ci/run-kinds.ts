// Mints every kind of credential live, as an honest person who follows docs/guides, at every level that the guides state.
// A script plays the people in a real Chromium. npm run battery -- kinds [--report]
import assert from 'node:assert/strict'
import { cpus, loadavg } from 'node:os'
import { parseArgs } from 'node:util'
import { findChromium, launch } from '../../packages/web/test/browser.ts'
import { buildPages } from '../../packages/server/dev/build-pages.ts'
import { today, writeReport } from '../report.ts'
import { startDeployment } from './kinds/deployment.ts'
import { KindsBattery, mintEveryKind, type KindResult } from './kinds/journeys.ts'
import { readLevels } from './kinds/levels.ts'
import { startSite } from './kinds/site.ts'
import { paddedTableOf } from './pages/markdown.ts'

const { values } = parseArgs({ options: { report: { type: 'boolean', default: false } } })
const chromium = findChromium()
if ('missing' in chromium) throw new Error(chromium.missing)
const failed = await buildPages(['tag', 'web'])
if (failed.length > 0) throw new Error(`cannot be built: ${failed.join(', ')}`)

const peopleNames = { anybody: 'anybody', withMore: 'with more' }
const rowOf = ({ kind, person, assurance, root, how, seconds }: KindResult) => [
  kind,
  peopleNames[person],
  assurance,
  root,
  how,
  seconds.toFixed(0),
]
const tableOfMinted = (minted: readonly KindResult[]) =>
  paddedTableOf(['Kind', 'Person', '`assurance`', '`root`', 'Guides', 'Seconds'], minted.map(rowOf))

const reportOf = (
  minted: readonly KindResult[],
  version: string,
): string => `# Every kind, minted live, ${today()}

Question: does an honest person who follows the guides get every kind of credential with a live key, at the level that
[verify.md](../guides/verify.md#levels) states?

Command: \`npm run battery -- kinds --report\`, Chromium ${version}. ${cpus().length} cores; average load of the last five minutes
${loadavg()[1]?.toFixed(1)}. It starts the server processes with \`ROOT_BUDGETS=on\`, \`ADDRESS_LIMITS=on\` and \`TRUSTED_PROXIES\`, a card
provider, a chain and one live agent, whose address an operator confirms. Two people each have a browser and an address of their own.
\`@pohf/verify\` accepts each credential with the status list, the level is compared with the table of the guide, and \`root\` with what
was shown.

${tableOfMinted(minted)}

- **Anybody** has a synced passkey of Chromium's virtual authenticator. **With more** is a security key for view, personhood, presence
  and binding, and an account that was paid for work and purchase.
- A call with \`minAssurance: substantial\` was first refused with 409 and the address of the step-up page, and cost no credit.
- Seconds count from the credential of the row before.

What is simulated:

- A script plays the people, with the keyboard alone and the questions in words. It hides that it drives the browser. That it gets
  \`low\` is what [limits.md](../limits.md) says of scripts.
- The FIDO metadata is our own and lists one model. The registration of the security key is made by the battery for that model:
  Chromium attests each key with a new certificate that signs itself, so no metadata can list it in advance. The later answer of
  the key (personhood) is signed by Chromium's virtual authenticator, through the browser's own WebAuthn.
- The chain is a local one with the number of Base and a test dollar at the address of USDC. The card provider is the simulator.
- Three periods are ended in the database: the 14 days after which Stars can be paid out, and twice the 72 hours of a review.
`

const deployment = await startDeployment()
const browser = await launch(chromium.path)
const site = await startSite(deployment.baseUrl, deployment.agentId)
try {
  const levels = readLevels()
  const battery = new KindsBattery({ deployment, browser, site, levels, log: (text) => console.log(text) })
  await mintEveryKind(battery)
  const { minted } = battery
  assert.equal(minted.length, levels.size * 2, 'every kind, by both people')
  console.log(tableOfMinted(minted))
  if (values.report) writeReport('kinds.md', reportOf(minted, browser.version()))
  console.log(`✓ ${minted.length} credentials of ${levels.size} kinds, each at the level of the guide`)
} finally {
  site.close()
  await browser.close()
  await deployment.close()
}
