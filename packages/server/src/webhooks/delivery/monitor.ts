import type { Ctx } from '../../platform/ops/context.ts'
import { inTransaction, readNow, type Tx } from '../../platform/db/db.ts'
import { queueMail } from '../../platform/net/mail.ts'
import { publish } from '../../platform/queue/outbox.ts'
import type { Job } from '../../platform/queue/worker.ts'
import { noticeMailOf, planMonitoring, type Notice } from '../rules.ts'
import { queueTestEvent } from '../endpoints/send-test.ts'
import { listEndpointsToMonitor, updateMonitoring, type EndpointKey } from '../endpoints/store.ts'

/** Finds the mail address of an agent if it is confirmed; other addresses receive no mail. */
export type FindConfirmedContactEmail = (tx: Tx, agentId: string) => Promise<string | undefined>

/** Queues the mail about a failing or disabled endpoint to its owner. */
export const mailNotice = async (
  tx: Tx,
  ctx: Ctx,
  findContact: FindConfirmedContactEmail,
  endpoint: EndpointKey & { readonly url: string; readonly failingSince: Date; readonly notice: Notice },
): Promise<void> => {
  const to = await findContact(tx, endpoint.agentId)
  if (to === undefined) return
  await queueMail(tx, ctx, {
    agentId: endpoint.agentId,
    kind: 'endpoint_notice',
    to,
    ...noticeMailOf({
      endpointId: endpoint.endpointId,
      host: new URL(endpoint.url).host,
      since: endpoint.failingSince,
      baseUrl: ctx.config.BASE_URL,
      notice: endpoint.notice,
    }),
  })
}

const monitorEndpoint = async (
  tx: Tx,
  ctx: Ctx,
  findContact: FindConfirmedContactEmail,
  row: Awaited<ReturnType<typeof listEndpointsToMonitor>>[number],
): Promise<void> => {
  const key = { agentId: row.agent_id, endpointId: row.endpoint_id }
  const mode = row.mode
  if (!row.failing_since || !row.last_failure_at)
    return updateMonitoring(tx, key, { notices: row.notices, nextAt: null })
  const failing = {
    failingSince: row.failing_since,
    lastFailureAt: row.last_failure_at,
    notices: row.notices,
  }
  const due = planMonitoring(failing, await readNow(tx))
  if (due.noticeHours !== undefined) {
    const notice = { kind: 'failing', hours: due.noticeHours } as const
    await mailNotice(tx, ctx, findContact, { ...key, url: row.url, failingSince: row.failing_since, notice })
    await publish(tx, {
      agentId: key.agentId,
      mode,
      type: 'endpoint.failing',
      subject: key.endpointId,
      data: {
        endpointId: key.endpointId,
        since: row.failing_since.toISOString(),
        hours: due.noticeHours,
      },
    })
  }
  if (due.probe) await queueTestEvent(tx, { ...key, mode }, 'probe')
  await updateMonitoring(tx, key, due)
}

const batchMax = 50

/** Monitors failing endpoints: notifies their owners, and probes those without other deliveries. */
export const endpointMonitorJob = (ctx: Ctx, findContact: FindConfirmedContactEmail): Job => ({
  name: 'webhook endpoint monitor',
  everyMs: 5_000,
  run: () =>
    inTransaction(ctx, 'system', async (tx) => {
      const rows = await listEndpointsToMonitor(tx, batchMax)
      for (const row of rows) await monitorEndpoint(tx, ctx, findContact, row)
      return rows.length
    }),
})
