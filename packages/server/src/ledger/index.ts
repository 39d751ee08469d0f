export { balanceOf, balancesOf } from './balances.ts'
export { findPosting, post } from './post.ts'
export { listReferences } from './store.ts'
export { balanceAfter, InsufficientBalance, type Line, type Posting } from './rules.ts'
