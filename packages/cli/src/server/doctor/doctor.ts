import { statfsSync } from 'node:fs'
import { ConfigFaults, readConfig } from '@pohf/server/doctor'
import { exitCodes } from '../../command/exit-codes.ts'
import { printAnswer } from '../../command/output.ts'
import { withProgress } from '../../command/progress.ts'
import { checkChains } from './chain.ts'
import { checkDatabase } from './database.ts'
import { problem, ok, type Finding, type Machine } from './finding.ts'
import { checkMachine } from './machine.ts'
import { checkNetwork } from './network.ts'
import { checkSettings } from './settings.ts'

const thisMachine: Machine = {
  now: Date.now,
  freeBytes: (folder) => {
    const { bavail, bsize } = statfsSync(folder)
    return bavail * bsize
  },
}

/** Runs every check. Nothing is written, and no check waits for more than some seconds. */
export const examine = async (
  environment: NodeJS.ProcessEnv,
  machine: Machine = thisMachine,
): Promise<Finding[]> => {
  try {
    const config = readConfig(environment)
    const [database, network, chains] = await Promise.all([
      checkDatabase(config, machine),
      checkNetwork(config, machine),
      checkChains(config),
    ])
    const signerAnswers = network.some(({ check, level }) => check === 'signer' && level === 'ok')
    return [
      ok('settings', 'valid'),
      ...checkSettings(config),
      ...database,
      ...network,
      ...chains,
      ...checkMachine(config, machine, signerAnswers),
    ]
  } catch (error) {
    if (!(error instanceof ConfigFaults)) throw error
    return error.faults.map((fault) =>
      problem('settings', fault, 'Correct the setting: docs/reference/settings.md lists its values'),
    )
  }
}

const marks = { ok: '✓', warning: '!', problem: '✗' } as const

const print = (findings: readonly Finding[], counts: Readonly<Record<string, number>>): void => {
  for (const { check, level, note, fix } of findings) {
    console.log(`${marks[level]} ${check.padEnd(11)} ${note}`)
    if (fix !== null) console.log(`  ${''.padEnd(11)} Fix: ${fix}`)
  }
  console.log(`\nProblems: ${counts['problems']}. Warnings: ${counts['warnings']}.`)
}

/** `pohf doctor`. */
export const doctor = async (options: { readonly json?: boolean }): Promise<void> => {
  const findings = await withProgress('checking', () => examine(process.env))
  const count = (level: Finding['level']) => findings.filter((finding) => finding.level === level).length
  const counts = { problems: count('problem'), warnings: count('warning') }
  printAnswer(options, { ok: counts.problems === 0, ...counts, findings }, () => print(findings, counts))
  if (counts.problems > 0) process.exitCode = exitCodes.refused
}
