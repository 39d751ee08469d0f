export { startChain, usdcAddress, type Account, type Chain } from './chain.ts'
export { compile, contractsFile } from './compile.ts'
export { HumanRegistry, TestDollar } from './contracts.ts'
export {
  deployRegistry,
  headerOf,
  openRegistry,
  tokenType,
  type Jwk,
  type Onchain,
  type Registry,
} from './registry.ts'
