// Mints every kind of credential live, as an honest person who follows docs/guides, at every level that the guides state.
// A script plays the people in a real Chromium.
import { findChromium, launch } from '../../packages/web/test/browser.ts'
import { buildPages } from '../../packages/server/dev/build-pages.ts'
import { closingAfter } from '../driver/closing.ts'
import { runProgram, starting, step } from '../driver/program.ts'
import { tableOfRecords } from '../driver/report.ts'
import { startDeployment } from './kinds/deployment.ts'
import { KindsBattery, mintEveryKind } from './kinds/journeys.ts'
import { readLevels } from './kinds/levels.ts'
import { startSite } from './kinds/site.ts'

const chromium = findChromium()

await runProgram({
  command: 'battery -- kinds',
  title: 'Every kind, minted live',
  about: `Question: does an honest person who follows the guides get every kind of credential with a live key, at the level that [verify.md](../guides/verify.md#levels) states?

The server processes run with \`ROOT_BUDGETS=on\`, \`ADDRESS_LIMITS=on\` and \`TRUSTED_PROXIES\`; there is a card provider, a chain and one live agent, whose address an operator confirms. Two people each have a browser and an address of their own. \`@pohf/verify\` accepts each credential with the status list, the level is compared with the table of the guide, and \`root\` with what was shown.

- \`anybody\` has a synced passkey of Chromium's virtual authenticator. \`withMore\` is a security key for view, personhood, presence and binding, and an account that was paid for work and purchase.
- A call with \`minAssurance: substantial\` was first refused with 409 and the address of the step-up page, and cost no credit.
- Seconds count from the credential of the row before.

What is simulated:

- A script plays the people, with the keyboard alone and the questions in words. It hides that it drives the browser. That it gets \`low\` is what [limits.md](../limits.md) says of scripts.
- The FIDO metadata is our own and lists one model. The registration of the security key is made by the battery for that model: Chromium attests each key with a new certificate that signs itself, so no metadata can list it in advance. The later answer of the key (personhood) is signed by Chromium's virtual authenticator, through the browser's own WebAuthn.
- The chain is a local one with the number of Base and a test dollar at the address of USDC. The card provider is the simulator.
- Three periods are ended in the database: the 14 days after which Stars can be paid out, and twice the 72 hours of a review.`,
  options: {},
  minutes: () => 60,
  missing: () => ('missing' in chromium ? chromium.missing : undefined),
  run: () =>
    closingAfter(async (defer) => {
      if ('missing' in chromium) throw new Error(chromium.missing)
      starting('the service, Chromium and a site')
      const failed = await buildPages(['tag', 'web'])
      if (failed.length > 0) throw new Error(`cannot be built: ${failed.join(', ')}`)
      const deployment = await startDeployment()
      defer(deployment.close)
      const browser = await launch(chromium.path)
      defer(() => browser.close())
      const site = await startSite(deployment.baseUrl, deployment.agentId)
      defer(() => site.close())
      const levels = readLevels()
      const battery = new KindsBattery({ deployment, browser, site, levels, log: step })
      await mintEveryKind(battery)
      const { minted } = battery
      return {
        figures: { minted: minted.length, kinds: levels.size, chromium: browser.version(), results: minted },
        tables: [
          tableOfRecords(
            minted.map(({ kind, person, assurance, root, how, seconds }) => ({
              Kind: kind,
              Person: person,
              '`assurance`': assurance,
              '`root`': root,
              Guides: how,
              Seconds: Math.round(seconds),
            })),
            `Chromium ${browser.version()}:`,
          ),
        ],
        faults:
          minted.length === levels.size * 2
            ? []
            : [`${minted.length} credentials of ${levels.size} kinds and two people`],
        holds: `${minted.length} credentials of ${levels.size} kinds, each at the level of the guide`,
      }
    }),
})
