import type { ApprovalPolicy } from '@pohf/verify/approvals'

type RequestedPolicy = { readonly [Field in keyof ApprovalPolicy]?: ApprovalPolicy[Field] | undefined }

/**
 * The policy of a request: the fields of `requested`, and those of `floor` where it has none. `lowered` names the first
 * field that is lower than in `floor`.
 */
export const raisePolicy = (
  floor: ApprovalPolicy,
  requested: RequestedPolicy = {},
): { readonly policy: ApprovalPolicy; readonly lowered: keyof ApprovalPolicy | undefined } => {
  const policy = {
    quorum: requested.quorum ?? floor.quorum,
    minSeconds: requested.minSeconds ?? floor.minSeconds,
    passkey: requested.passkey ?? floor.passkey,
    delaySeconds: requested.delaySeconds ?? floor.delaySeconds,
  }
  const numbers = ['quorum', 'minSeconds', 'delaySeconds'] as const
  const lowered =
    numbers.find((field) => policy[field] < floor[field]) ??
    (floor.passkey === 'device_bound' && policy.passkey === 'any' ? 'passkey' : undefined)
  return { policy, lowered }
}
