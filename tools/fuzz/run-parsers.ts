// Gives changed evidence to every parser of foreign evidence: attestations, tokens, mandates, signatures, certificates.
// npm run battery -- parsers [--inputs 1000000 --seconds 36000 --seed 1 --parser sd-jwt --from 0 --json]
import { parseArgs } from 'node:util'
import { runParser, type ParserResult } from '../../packages/server/test/parsers/run.ts'
import { targets } from '../../packages/server/test/parsers/targets.ts'

const { values: options } = parseArgs({
  options: {
    /** For each parser. */
    inputs: { type: 'string', default: '1000000' },
    /** At most this long for each parser. */
    seconds: { type: 'string', default: '36000' },
    seed: { type: 'string', default: '1' },
    /** The number of the first input: with --inputs 1 it repeats one. */
    from: { type: 'string', default: '0' },
    parser: { type: 'string', multiple: true, default: [] },
    json: { type: 'boolean', default: false },
  },
})

const names = (await targets()).map(({ name }) => name)
const unknown = options.parser.find((name) => !names.includes(name))
if (unknown !== undefined) throw new Error(`no parser is called ${unknown}; there are ${names.join(', ')}`)

const parsers: Omit<ParserResult, 'findings'>[] = []
for (const name of options.parser.length > 0 ? options.parser : names) {
  const { findings, ...result } = await runParser(name, {
    targets: import.meta.resolve('../../packages/server/test/parsers/targets.ts'),
    seed: options.seed,
    inputs: Number(options.inputs),
    seconds: Number(options.seconds),
    from: Number(options.from),
  })
  parsers.push(result)
  for (const { kind, index, what } of findings)
    console.error(`${name}: ${kind} at input ${index} of seed ${options.seed}\n    ${what}`)
  const { inputs, crashes, hangs, accepted, equal, seconds } = result
  console.error(
    `${name}: ${inputs} inputs in ${seconds} s, ${crashes} crashes, ${hangs} hangs, ${accepted} accepted (${equal} equal)`,
  )
}
if (options.json) console.log(JSON.stringify({ seed: options.seed, parsers }))
const isClean = parsers.every(
  ({ inputs, crashes, hangs, accepted }) => inputs > 0 && crashes + hangs + accepted === 0,
)
process.exitCode = isClean ? 0 : 1
