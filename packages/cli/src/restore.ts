import { readFileSync } from 'node:fs'
import type { Command } from 'commander'
import { operatorCall, type Remote } from './operator.ts'

type ApplyOptions = Remote & {
  readonly published?: string[]
  readonly credentials?: string
  readonly without?: string[]
}

/** Completes a restore. Lists and credentials that were found outside go with it. */
const applyRestore = async (options: ApplyOptions): Promise<void> => {
  const published = (options.published ?? []).map((file) => readFileSync(file, 'utf8').trim())
  const credentials =
    options.credentials === undefined
      ? []
      : readFileSync(options.credentials, 'utf8')
          .split('\n')
          .map((line) => line.trim())
          .filter((line) => line !== '')
  await operatorCall(options, 'POST', '/operator/restore/apply', {
    published,
    credentials,
    without: options.without ?? [],
  })
}

/** Adds `pohf restore plan` and `pohf restore apply`. */
export const addRestore = (program: Command, operatorCommand: (command: Command) => Command): void => {
  const restore = program
    .command('restore')
    .description('complete a restore of the database to an earlier state')
  operatorCommand(restore.command('plan'))
    .description('compare the database with the journals of the signers and list what is missing')
    .action((options: Remote) => operatorCall(options, 'GET', '/operator/restore/plan'))
  operatorCommand(restore.command('apply'))
    .description('repair what the plan lists and let minting continue; repeat it after an interruption')
    .option('--published <files...>', 'status lists as they were published, where the journal is lost too')
    .option('--credentials <file>', 'file with credentials that holders present, one per line')
    .option('--without <signers...>', 'signers that do not answer and whose journals are given up')
    .action((options: ApplyOptions) => applyRestore(options))
}
