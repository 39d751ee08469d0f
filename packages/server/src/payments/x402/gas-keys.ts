import { readFileSync } from 'node:fs'
import type { Hex } from 'viem'
import type { Config } from '../../platform/ops/config.ts'

const keysMax = 64

/** The private keys of the gas accounts, one a line. Lines that begin with # are comments. */
export const readGasKeys = (config: Pick<Config, 'X402_GAS_KEYS_FILE'>): Hex[] => {
  const { X402_GAS_KEYS_FILE: path } = config
  if (path === undefined) return []
  const lines = readFileSync(path, 'utf8')
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'))
  // The error names the key by its position among the keys: it must not contain one.
  const wrong = lines.findIndex((line) => !/^0x[0-9a-fA-F]{64}$/.test(line))
  if (wrong >= 0) throw new Error(`X402_GAS_KEYS_FILE: key ${wrong + 1} is not 0x and 64 hexadecimal digits`)
  if (lines.length === 0 || lines.length > keysMax)
    throw new Error(`X402_GAS_KEYS_FILE must hold 1 to ${keysMax} keys, one a line`)
  return [...new Set(lines.map((line) => line.toLowerCase() as Hex))]
}
