export { routes } from './routes.ts'
export { lint } from './rules.ts'
export { openSigner, type Signer } from './sign.ts'
