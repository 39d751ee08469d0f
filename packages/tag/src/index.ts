export { PohfError } from './connection.ts'
export {
  asksForPrivacy,
  start,
  type BrowserProof,
  type FinishedSession,
  type Options,
  type Progress,
  type Session,
} from './session.ts'
