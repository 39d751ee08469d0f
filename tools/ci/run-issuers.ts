// Changes what outside issuers answer, for each adapter: every change has to be refused by the rule that names it. Then it leaves
// out one check after another, to see that the changes that get through are found.
import { z } from 'zod'
import { adapters } from '../../packages/server/src/issuers/index.ts'
import { readFigures } from '../driver/child.ts'
import { runProgram } from '../driver/program.ts'
import { tableOfRecords } from '../driver/report.ts'

const test = 'packages/server/src/issuers/oidc/mutations.test.ts'
const mutationsMin = 25
/** The checks that the test can leave out. */
const plantedFaults = ['tenant', 'admit']

const figuresOf = z.object({
  adapters: z.array(
    z.object({ name: z.string(), mutations: z.int(), accepted: z.int(), cpuMs: z.number().positive() }),
  ),
  wrong: z.array(z.string()),
})

const measure = async (planted: string) => {
  const { code, figures } = await readFigures(test, 'POHF_ISSUER_FIGURES', { POHF_ISSUER_FAULT: planted })
  return { code, ...(figuresOf.safeParse(figures).data ?? { adapters: [], wrong: [] }) }
}

await runProgram({
  command: 'battery -- issuers',
  title: 'Outside issuers',
  about:
    'Changed answers of each kind of outside issuer, over HTTP, to the whole service. `accepted` changes got through; each of the others was refused by the rule that names the change. `cpuMs`: processor time of the service for one finished check, the median of 21, with a provider (oidc-provider from npm) in another process. With a planted fault the service leaves out one check.',
  options: { faults: plantedFaults },
  smoke: { faults: plantedFaults.slice(0, 1) },
  minutes: ({ faults }) => 10 + 10 * faults.length,
  run: async ({ faults: planted }) => {
    const whole = await measure('')
    const found: { readonly fault: string; readonly accepted: number }[] = []
    for (const fault of planted) {
      const { adapters: measured } = await measure(fault)
      found.push({ fault, accepted: measured.reduce((total, { accepted }) => total + accepted, 0) })
    }
    return {
      figures: { adapters: whole.adapters, planted: found },
      tables: [tableOfRecords(whole.adapters), tableOfRecords(found, 'Planted faults')],
      faults: [
        ...(whole.code === 0 ? [] : [`the test ended with ${whole.code}`]),
        ...whole.wrong,
        ...adapters
          .filter((name) => !whole.adapters.some((measured) => measured.name === name))
          .map((name) => `nothing was measured of adapter ${name}`),
        ...whole.adapters.flatMap(({ name, mutations, accepted }) => [
          ...(mutations >= mutationsMin
            ? []
            : [`adapter ${name} has ${mutations} mutations, expected ${mutationsMin}`]),
          ...(accepted === 0 ? [] : [`adapter ${name} accepted ${accepted} changed answers`]),
        ]),
        ...found.filter(({ accepted }) => accepted === 0).map(({ fault }) => `planted ${fault}: not found`),
      ],
      holds: 'no changed answer was accepted, and every planted fault was found',
    }
  },
})
