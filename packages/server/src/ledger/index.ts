export { balanceOf, balancesOf } from './balances.ts'
export { findPosting, post } from './post.ts'
export { balanceAfter, InsufficientBalance, type Line, type Posting } from './rules.ts'
