import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Abi, Hex } from 'viem'

const require = createRequire(import.meta.url)

/** The output of solc for one contract. `runtime` is the code on the chain, for a contract without a constructor. */
export type CompiledContract = { readonly abi: Abi; readonly bytecode: Hex; readonly runtime: Hex }

type Output = {
  readonly errors?: readonly { readonly severity: string; readonly formattedMessage: string }[]
  readonly contracts: Record<
    string,
    Record<
      string,
      {
        readonly abi: Abi
        readonly evm: {
          readonly bytecode: { readonly object: string }
          readonly deployedBytecode: { readonly object: string }
        }
      }
    >
  >
}

const folder = new URL('../contracts/', import.meta.url)
/** An import is a file of a package, or of the contracts folder. */
const readImport = (path: string): { contents: string } | { error: string } => {
  try {
    const file = path.startsWith('@') ? require.resolve(path) : new URL(path, folder)
    return { contents: readFileSync(file, 'utf8') }
  } catch {
    return { error: `${path} is not there` }
  }
}

/** Compiles one Solidity source and returns its contracts by name. */
export const compile = (source: string): Readonly<Record<string, CompiledContract>> => {
  const solc = require('solc') as {
    compile: (input: string, callbacks: { import: typeof readImport }) => string
  }
  const output = JSON.parse(
    solc.compile(
      JSON.stringify({
        language: 'Solidity',
        sources: { 'contract.sol': { content: source } },
        settings: {
          // What every chain that matters runs since 2024; the compiler's own default asks for more.
          evmVersion: 'cancun',
          optimizer: { enabled: true, runs: 10_000 },
          // Without it a change of a comment would change the code.
          metadata: { bytecodeHash: 'none', appendCBOR: false },
          outputSelection: { '*': { '*': ['abi', 'evm.bytecode.object', 'evm.deployedBytecode.object'] } },
        },
      }),
      { import: readImport },
    ),
  ) as Output
  const faults = (output.errors ?? []).filter(({ severity }) => severity === 'error')
  if (faults.length > 0) throw new Error(faults.map(({ formattedMessage }) => formattedMessage).join('\n'))
  return Object.fromEntries(
    Object.entries(output.contracts['contract.sol'] ?? {}).map(([name, { abi, evm }]) => [
      name,
      { abi, bytecode: `0x${evm.bytecode.object}`, runtime: `0x${evm.deployedBytecode.object}` },
    ]),
  )
}

const names = ['HumanRegistry', 'TestDollar', 'SilentDollar'] as const

/** The compiled contracts as a TypeScript file, so that starting a chain needs no compiler. */
export const contractsFile = (): string => {
  const parts = names.map((name) => {
    const made = compile(readFileSync(new URL(`${name}.sol`, folder), 'utf8'))[name]
    if (!made) throw new Error(`contracts/${name}.sol contains no contract ${name}`)
    return `export const ${name} = ${JSON.stringify(made)} as const\n`
  })
  return `// Written by npm run generate from contracts/.\n// prettier-ignore\n${parts.join('// prettier-ignore\n')}`
}
