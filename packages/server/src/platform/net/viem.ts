import { createRequire } from 'node:module'

const require = createRequire(import.meta.url)

/** viem, loaded at its first use: it takes 170 ms of CPU, and most processes meet neither a chain nor a wallet. */
export const viem = (): typeof import('viem/utils') => require('viem/utils')
export const viemAccounts = (): typeof import('viem/accounts') => require('viem/accounts')
