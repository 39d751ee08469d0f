export {
  ApprovalDenied,
  ApprovalError,
  ApprovalExpired,
  ApprovalNotVerified,
  ApprovalUnavailable,
} from './approvals/errors.ts'
export { guard } from './approvals/guard.ts'
export type { Action, GuardOptions } from './approvals/options.ts'
