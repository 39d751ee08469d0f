import type { Command } from 'commander'
import { readJson } from '../command/files.ts'
import { operatorCall } from '../command/operator.ts'
import { addOperator } from '../command/options.ts'

const workflowPath = (workflowId: string, step = '') =>
  `/operator/workflows/${encodeURIComponent(workflowId)}${step}`

const addProduction = (program: Command): void => {
  addOperator(
    program.command('work').description('order work at the platform’s own cost'),
    'produce <workflowId> <quantity>',
    'order units to be sold from stock',
    'work produce wf_sentiment 10 --mode test',
  )
    .option('--mode <mode>', 'live or test', 'live')
    .option('--instructions <text>', 'instructions for the workers')
    .option('--idempotency-key <key>', 'repeat the command with the same key and it acts once')
    .action((workflowId: string, quantity: string, options) =>
      operatorCall(options, 'POST', '/operator/work/produce', {
        workflowId,
        mode: options.mode,
        quantity: Number(quantity),
        ...(options.instructions === undefined ? {} : { instructions: options.instructions }),
      }),
    )
}

/** Workflows, and work that is produced for stock. */
export const addWorkflows = (program: Command): void => {
  const workflows = program.command('workflows').description('manage workflows')
  addOperator(
    workflows,
    'list',
    'list every workflow with its forms, known-answer items and stock',
    'workflows list',
  ).action((options) => operatorCall(options, 'GET', '/operator/workflows'))
  addOperator(
    workflows,
    'write <workflowId>',
    'create or change a workflow; existing orders keep their terms',
    'workflows write wf_sentiment --file workflow.json',
  )
    .option('--file <file>', 'file with the terms as JSON; - reads standard input', '-')
    .action((workflowId: string, { file, ...remote }) =>
      operatorCall(remote, 'POST', workflowPath(workflowId), readJson(file)),
    )
  addOperator(
    workflows,
    'retire <workflowId>',
    'retire a workflow; existing orders are finished',
    'workflows retire wf_sentiment',
  ).action((workflowId: string, options) =>
    operatorCall(options, 'POST', workflowPath(workflowId, '/retire')),
  )
  addProduction(program)
}
