import type { Command } from 'commander'
import { operatorCall, type OperatorRemote } from '../command/operator.ts'
import { readText } from '../command/files.ts'
import { addOperator } from '../command/options.ts'

type ApplyOptions = OperatorRemote & {
  readonly published?: string[]
  readonly credentials?: string
  readonly without?: string[]
}

/** Completes a restore. Lists and credentials that were found outside go with it. */
const applyRestore = async (options: ApplyOptions): Promise<void> => {
  const published = (options.published ?? []).map((file) => readText(file).trim())
  const credentials =
    options.credentials === undefined
      ? []
      : readText(options.credentials)
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
export const addRestore = (program: Command): void => {
  const restore = program
    .command('restore')
    .description('complete a restore of the database to an earlier state')
  addOperator(
    restore,
    'plan',
    'compare the database with the journals of the signers and list what is missing',
    'restore plan',
  ).action((options: OperatorRemote) => operatorCall(options, 'GET', '/operator/restore/plan'))
  addOperator(
    restore,
    'apply',
    'repair what the plan lists and let minting continue; repeat it after an interruption',
    'restore apply',
  )
    .option('--published <files...>', 'status lists as they were published, where the journal is lost too')
    .option('--credentials <file>', 'file with credentials that holders present, one per line')
    .option('--without <signers...>', 'signers that do not answer and whose journals are given up')
    .action((options: ApplyOptions) => applyRestore(options))
}
