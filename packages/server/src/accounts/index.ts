export { makeBearers } from './bearer.ts'
export { authenticate } from './sign-in/visitor.ts'
export { routes } from './routes.ts'
export {
  deleteExpired,
  findIsInAccount as isInAccount,
  listAccountsOfAgents,
  voidConsoleSignIns,
} from './store.ts'
