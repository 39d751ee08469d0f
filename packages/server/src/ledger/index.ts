export { balanceOf, balancesOf, balancesOfAgents } from './balances.ts'
export { findPosting, post } from './post.ts'
export { balanceAfter, InsufficientBalance, type Line, type Posting } from './rules.ts'
