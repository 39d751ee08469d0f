export { routes } from './routes.ts'
export { lint, type Mintable } from './rules.ts'
export { openSigner, type Signer } from './sign.ts'
