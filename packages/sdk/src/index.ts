export {
  createBuyer,
  resumePurchase,
  type Buyer,
  type BuyerSettings,
  type PaidQuestion,
  type BuyOptions,
  type Progress,
  type PurchaseResult,
  type ServiceSettings,
  type Wallet,
} from './buyer.ts'
export { createClient, type Client, type ClientSettings } from './client.ts'
export { PohfError } from './error.ts'
export { type Limits, type NetworkName, type TypedData } from './payment.ts'
export { PurchaseError, type PurchaseErrorCode } from './purchase-error.ts'
export { PohfUnreachable } from './send.ts'
export { signRequest, type RequestToSign } from './signed-request.ts'
