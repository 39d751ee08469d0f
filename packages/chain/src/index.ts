export { startChain, usdcAddress, type Account, type Chain } from './chain.ts'
export { compile, contractsFile } from './compile.ts'
export { SilentDollar, TestDollar } from './contracts.ts'
