import type { ApprovalPolicy } from '@pohf/verify/approvals'
import { inTransaction } from '../../platform/db/db.ts'
import type { Agent } from '../../platform/http/call.ts'
import type { Ctx } from '../../platform/ops/context.ts'
import { approvalConflict, approvalRefused, labelsMax, typesMax, versionsMax } from '../rules.ts'
import { lockApprovalsOf } from '../store.ts'
import { describesField, schemaFault } from './action-schema.ts'
import { administratorOf, logChange } from './administrator.ts'
import { findNewestType, insertType, listNewestTypes } from './store.ts'
import { presentType } from './types-list.ts'

type Input = {
  readonly type: string
  readonly title: string
  readonly schema?: unknown
  readonly labels?: Readonly<Record<string, string>> | undefined
  readonly critical: readonly string[]
  readonly policy: ApprovalPolicy
}

/** Refuses a schema that is not supported, and labels or critical fields that the schema does not have. */
const requireUsable = ({ schema, labels = {}, critical }: Input): Readonly<Record<string, unknown>> => {
  const fault = schemaFault(schema)
  if (fault) throw approvalRefused(`body.schema${fault.path}`, 'schema', fault.message)
  const described = schema as Readonly<Record<string, unknown>>
  if (Object.keys(labels).length > labelsMax)
    throw approvalRefused('body.labels', 'labels', `has more than ${labelsMax} labels`)
  for (const [where, paths] of [
    ['critical', critical],
    ['labels', Object.keys(labels)],
  ] as const) {
    const unknown = paths.find((path) => !describesField(described, path))
    if (unknown !== undefined)
      throw approvalRefused(
        `body.${where}`,
        'field_unknown',
        `names ${unknown}, which the schema does not have`,
      )
  }
  if (new Set(critical).size < critical.length)
    throw approvalRefused('body.critical', 'field_repeated', 'names a field twice')
  return described
}

/** Registers a version of a type. Approvals that were requested before keep theirs. */
export const typesWrite = async (ctx: Ctx, agent: Agent, input: Input) => {
  const schema = requireUsable(input)
  const { type, title, labels = {}, critical, policy } = input
  const written = await inTransaction(ctx, agent.agentId, async (tx) => {
    await lockApprovalsOf(tx, agent)
    const newest = await findNewestType(tx, agent, type)
    if (!newest && (await listNewestTypes(tx, agent)).length >= typesMax)
      throw approvalConflict('path.type', 'too_many_types', `an agent has at most ${typesMax} types`)
    const version = (newest?.version ?? 0) + 1
    if (version > versionsMax)
      throw approvalConflict('path.type', 'too_many_versions', `a type has at most ${versionsMax} versions`)
    const createdBy = administratorOf(agent)
    return insertType(tx, agent, { type, version, title, schema, labels, critical, policy, createdBy })
  })
  logChange(ctx, agent, { action: 'type.write', target: `${type} version ${written.version}` })
  return presentType(written)
}
