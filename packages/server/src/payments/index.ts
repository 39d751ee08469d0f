export { makePayments, type Payments } from './checkout.ts'
export { duties } from './duties.ts'
export { pages } from './pages.ts'
