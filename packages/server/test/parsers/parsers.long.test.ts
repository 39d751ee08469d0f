import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runParser, type ParserResult } from './run.ts'
import { inputOf } from './target.ts'
import { targets } from './targets.ts'

const faultsOf = ({ crashes, hangs, accepted }: ParserResult) => ({ crashes, hangs, accepted })

const runPlanted = (name: string) =>
  runParser(name, {
    targets: import.meta.resolve('./planted.ts'),
    seed: '1',
    inputs: 500,
    seconds: 300,
    hangCpuMs: 2_000,
  })

test('a planted crash, a planted hang and a planted forgery are found, each as what it is', async () => {
  const crash = await runPlanted('crash')
  assert.ok(crash.crashes > 0 && crash.accepted === 0 && crash.hangs === 0, JSON.stringify(crash))
  assert.match(crash.findings[0]?.what ?? '', /RangeError/)
  const accepted = await runPlanted('accepted')
  assert.ok(accepted.accepted > 0 && accepted.crashes === 0 && accepted.hangs === 0, JSON.stringify(accepted))
  const hang = await runPlanted('hang')
  assert.ok(hang.hangs > 0 && hang.crashes === 0 && hang.accepted === 0, JSON.stringify(hang))
  assert.equal(hang.inputs, 500, 'the inputs behind one that does not end are run too')
  assert.deepEqual(faultsOf(await runPlanted('good')), { crashes: 0, hangs: 0, accepted: 0 })
})

const known = await targets()

test('the changes of an input depend on the seed and its number alone, and change something', () => {
  for (const target of known) {
    for (let index = 0; index < 50; index += 1) {
      const [one, two] = [inputOf(target, 'a', index), inputOf(target, 'a', index)]
      assert.deepEqual(one.input, two.input, `${target.name} ${index}`)
      assert.notDeepEqual(one.input, one.seed, `${target.name} ${index}`)
    }
  }
})

test('every parser of foreign evidence refuses 500 changed inputs: no crash, no hang, none accepted', async () => {
  assert.ok(known.length >= 13)
  for (const { name } of known) {
    const options = {
      targets: import.meta.resolve('./targets.ts'),
      seed: 'smoke',
      inputs: 500,
      seconds: 600,
    }
    const result = await runParser(name, options)
    assert.equal(result.inputs, 500, name)
    const faults = JSON.stringify(result.findings)
    assert.deepEqual(faultsOf(result), { crashes: 0, hangs: 0, accepted: 0 }, `${name}: ${faults}`)
  }
})
