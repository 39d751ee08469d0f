// Gives changed evidence to every parser of foreign evidence: attestations, tokens, mandates, signatures, certificates.
import { runParser, type ParserResult } from '../../packages/server/test/parsers/run.ts'
import { targets } from '../../packages/server/test/parsers/targets.ts'
import { runProgram, step } from '../driver/program.ts'
import { tableOfRecords } from '../driver/report.ts'

await runProgram({
  command: 'battery -- parsers',
  title: 'Changed evidence for every parser',
  about:
    'No parser of foreign evidence accepts, crashes or hangs on changed input. `--inputs` and `--seconds` are for each parser; `--from` is the number of the first input: with `--inputs 1` it repeats one.',
  options: { inputs: 1_000_000, seconds: 36_000, seed: 1, from: 0, parser: [] },
  smoke: { inputs: 200 },
  minutes: ({ seconds }) => 30 + seconds,
  run: async ({ parser, seed, ...options }) => {
    const names = (await targets()).map(({ name }) => name)
    const unknown = parser.find((name) => !names.includes(name))
    if (unknown !== undefined)
      throw new Error(`no parser is called ${unknown}; there are ${names.join(', ')}`)
    const parsers: Omit<ParserResult, 'findings'>[] = []
    const faults: string[] = []
    for (const name of parser.length > 0 ? parser : names) {
      step(`parser ${name}`)
      const { findings, ...result } = await runParser(name, {
        ...options,
        targets: import.meta.resolve('../../packages/server/test/parsers/targets.ts'),
        seed: String(seed),
      })
      parsers.push(result)
      if (result.inputs === 0) faults.push(`${name}: no input was tried`)
      for (const kind of ['crashes', 'hangs', 'accepted'] as const)
        if (result[kind] > 0) faults.push(`${name}: ${kind}: ${result[kind]}`)
      for (const { kind, index, what } of findings)
        faults.push(`${name}: ${kind} at input ${index} of seed ${seed}: ${what}`)
    }
    return {
      figures: { seed: String(seed), parsers },
      tables: [tableOfRecords(parsers)],
      faults,
      holds: 'nothing accepted, no crash, no hang',
    }
  },
})
