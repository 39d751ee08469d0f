import type { Mode, TrustRootKind } from '@pohf/protocol'
import { inTransaction } from '../platform/db/db.ts'
import type { Audit, Operator } from '../platform/http/call.ts'
import { Refusal } from '../platform/http/errors.ts'
import type { Ctx } from '../platform/ops/context.ts'
import { presentRoot } from './operator-list.ts'
import { directoryPath, keysUrlFault, rootsMax } from './rules.ts'
import { insertRoot, listRoots, lockRoots } from './store.ts'

export type TrustDeps = { readonly ctx: Ctx; readonly audit: Audit }
type Input = {
  readonly kind: TrustRootKind
  readonly name: string
  readonly keysUrl?: string | undefined
  readonly mode: Mode
  readonly requireDigest?: boolean | undefined
  readonly reason: string
}

const fault = (path: string, code: string, message: string): Refusal =>
  new Refusal('validation_failed', { details: [{ path: `body.${path}`, code, message }] })

/** A directory is an origin and nothing more; a name of a network is part of the name of its agents. */
const checkName = ({ kind, name }: Input, loopback: boolean): void => {
  if (kind === 'jwks' && !/^[a-z0-9][a-z0-9.-]{0,63}$/.test(name))
    throw fault('name', 'name', 'must be 1 to 64 lower-case letters, digits, dots and hyphens')
  if (kind !== 'directory') return
  const wrong = keysUrlFault(name, loopback)
  if (wrong !== undefined || new URL(name).origin !== name)
    throw fault('name', 'origin', wrong ?? 'must be an origin, such as https://agent.example')
}

const keysUrlOf = (input: Input, loopback: boolean): string => {
  checkName(input, loopback)
  const { kind, name, keysUrl } = input
  if (kind === 'directory') return `${name}${directoryPath}`
  if (keysUrl === undefined) throw fault('keysUrl', 'required', 'is required for this kind')
  const wrong = keysUrlFault(keysUrl, loopback)
  if (wrong !== undefined) throw fault('keysUrl', 'url', wrong)
  return keysUrl
}

/** Trusts a root from now on. One that exists is not changed: remove it first. */
export const operatorAdd = ({ ctx, audit }: TrustDeps, operator: Operator, input: Input) =>
  inTransaction(ctx, 'system', async (tx) => {
    const { kind, name, mode, requireDigest = false, reason } = input
    const keysUrl = keysUrlOf(input, ctx.config.loopback)
    await lockRoots(tx)
    const before = await listRoots(tx)
    if (before.length >= rootsMax) throw fault('name', 'limit', `there are ${rootsMax} trust roots, the most`)
    if (!(await insertRoot(tx, { kind, name, keysUrl, mode, requireDigest, reason })))
      throw fault('name', 'exists', 'is a trust root already: remove it first')
    await audit(tx, {
      operatorId: operator.operatorId,
      action: 'trust.add',
      target: `${kind} ${name}`,
      details: { keysUrl, mode, requireDigest, reason },
    })
    const added = (await listRoots(tx)).find((root) => root.kind === kind && root.name === name)
    if (!added) throw new Error(`trust root ${kind} ${name} not found after it was inserted`)
    return presentRoot(added)
  })
