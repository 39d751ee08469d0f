export { challengeHeaders, requirementOf } from './x402-challenge.ts'
export { checkPayment } from './x402-check.ts'
export { networkOf, usdcOf, type Network } from './x402-network.ts'
export { parsePayment, type Payment } from './x402-parse.ts'
