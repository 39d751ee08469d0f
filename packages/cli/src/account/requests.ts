import type { LoggedRequest } from '@pohf/protocol'
import type { Command } from 'commander'
import { addList, printList, type ListCommand, type ListOptions } from '../command/lists.ts'

const requestList: ListCommand<LoggedRequest> = {
  name: 'requests',
  filters: ['requestId', 'status', 'code', 'endpoint', 'since', 'until', 'cursor'],
  head: ['TIME', 'REQUEST', 'METHOD', 'ENDPOINT', 'STATUS', 'CODE', 'MS', 'KEY'],
  cells: (row) => [
    row.at,
    row.requestId,
    row.method,
    row.endpoint,
    row.status,
    row.code,
    row.durationMs,
    row.keyId,
  ],
  whenEmpty: 'No request in the last 7 days.',
}

/** Adds `pohf requests list`. */
export const addRequests = (program: Command): void => {
  const requests = program.command('requests').description('read the requests of your agent')
  addList(requests, 'list the requests of the last 7 days, newest first', 'requests list --status 4xx')
    .option('--request-id <id>', 'only this request, as in the header X-Request-Id')
    .option('--status <status>', 'only this status, such as 404, or class, such as 4xx')
    .option('--code <code>', 'only this error code')
    .option('--endpoint <id>', 'only this endpoint, such as credentials.verify')
    .action((options: ListOptions) => printList(options, requestList))
}
