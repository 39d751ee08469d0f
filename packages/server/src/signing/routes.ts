import { route, type Route } from '../platform/call.ts'
import { jwks } from './jwks.ts'
import type { Signer } from './sign.ts'

export const routes = (signer: Signer): Route[] => [
  route('signing.jwks', (call) => jwks(signer, call.header('if-none-match'))),
]
