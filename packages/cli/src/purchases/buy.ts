import { existsSync, readFileSync } from 'node:fs'
import {
  createBuyer,
  PohfError,
  PohfUnreachable,
  PurchaseError,
  resumePurchase,
  type NetworkName,
  type Progress,
  type PurchaseResult,
  type Wallet,
} from '@pohf/sdk'
import { privateKeyToAccount } from 'viem/accounts'
import { CommandError, UsageError } from '../command/errors.ts'
import { exitCodes } from '../command/exit-codes.ts'

type WalletOptions = {
  readonly url: string
  readonly key?: string
  readonly keyFile?: string
  readonly network?: string
  readonly payTo?: string
  readonly json?: boolean
}
type BuyOptions = WalletOptions & {
  readonly maxUsd: string
  readonly issuer?: string
  readonly resume?: string
  readonly wait: string
}

const usageError = (message: string, fix?: string): never => {
  throw new UsageError(message, fix)
}

/** Never from a command-line argument: every user of the machine can read those. */
const walletOf = (keyFile: string | undefined): Wallet => {
  if (keyFile !== undefined && !existsSync(keyFile)) return usageError(`There is no file ${keyFile}.`)
  const text = keyFile === undefined ? process.env['PAYER_PRIVATE_KEY'] : readFileSync(keyFile, 'utf8')
  const key = text?.trim().replace(/^(?:0x)?/, '0x')
  if (key === undefined || !/^0x[0-9a-fA-F]{64}$/.test(key))
    return usageError(
      'The key of a wallet is needed, 64 hexadecimal digits: --key-file names a file, or PAYER_PRIVATE_KEY holds it.',
    )
  return privateKeyToAccount(key as `0x${string}`)
}

const networkNames: readonly string[] = ['base', 'base-sepolia'] satisfies NetworkName[]
const networksOf = (name: string | undefined): NetworkName[] | undefined => {
  if (name === undefined) return undefined
  return networkNames.includes(name)
    ? [name as NetworkName]
    : usageError(`--network must be one of ${networkNames.join(', ')}.`)
}

const numberOf = (text: string, name: string, max: number): number => {
  const value = Number(text)
  return text.trim() !== '' && value > 0 && value <= max
    ? value
    : usageError(`${name} must be a number, more than 0 and at most ${max}.`)
}

const isTerminal = process.stderr.isTTY
/** On a terminal a wait overwrites one line; elsewhere every step is a line. */
const line = (mark: string, text: string, stays = true) =>
  process.stderr.write(
    `${isTerminal ? '\r\u001b[K' : ''}  ${mark} ${text}${stays || !isTerminal ? '\n' : ''}`,
  )
/** `resume` is the command that shows how it ended. */
const showProgress = (progress: Progress, resume: string): void => {
  switch (progress.step) {
    case 'quoted':
      line('✓', `costs ${progress.amountUsd} USD on ${progress.network}, paid to ${progress.payTo}`)
      return
    case 'signed':
      line('✓', `signed, good until ${progress.validBefore.toISOString()}`)
      line(' ', `if this stops now: ${resume}`)
      return
    case 'sent':
      line('…', progress.attempt === 1 ? 'sent' : `asked again, ${progress.attempt}`, false)
      return
    case 'waiting':
      line('…', `${progress.why}; next look in ${Math.ceil(progress.seconds)} s`, false)
      return
    case 'delivered':
      line('✓', `paid by transaction ${progress.transaction}`)
      return
  }
}

const print = (bought: PurchaseResult): void => {
  const { claims, payment } = bought
  console.log(`
Bought: ${claims.purchase?.workflow ?? 'a unit'}${claims.test ? ', a test: no person was involved' : ''}
  purchase     ${bought.purchaseId}
  transaction  ${payment.transaction} on ${payment.network}
  paid         ${Number(payment.amount) / 1_000_000} USD by ${payment.payer}
  credential   ${bought.credentialId}, verified, good until ${bought.expiresAt}
  answer       ${JSON.stringify(bought.answer)}

${bought.pohf_jwt}`)
}

/** By whether the wallet was charged. */
const chargedCodes = { no: exitCodes.refused, unknown: exitCodes.open, yes: exitCodes.charged } as const

const resumeCommandOf = (purchaseId: string | undefined) => `pohf buy --resume '${purchaseId}'`

const fail = (
  error: unknown,
  json: boolean | undefined,
  commandOf: (purchaseId: string | undefined) => string = resumeCommandOf,
): void => {
  if (isTerminal) process.stderr.write('\r\u001b[K')
  if (error instanceof CommandError) throw error
  if (error instanceof TypeError) throw new UsageError(error.message, 'Correct the option: pohf buy --help.')
  if (!(error instanceof PurchaseError || error instanceof PohfUnreachable)) throw error
  const known =
    error instanceof PurchaseError
      ? error
      : { code: 'unreachable', charged: 'no' as const, purchaseId: undefined }
  const reason = error.cause instanceof PohfError ? error.cause.code : known.code
  const { charged, purchaseId } = known
  console.error(`${error.message} (${reason})`)
  const next = {
    no: 'Nothing was charged.',
    unknown: `Ask again with: ${commandOf(purchaseId)}`,
    yes: 'The wallet was charged.',
  }
  console.error(next[charged])
  if (json)
    console.log(JSON.stringify({ ok: false, error: reason, message: error.message, charged, purchaseId }))
  process.exitCode = error instanceof PohfUnreachable ? exitCodes.unreachable : chargedCodes[charged]
}

/** `pohf buy`. */
export const buy = async (workflowId: string | undefined, flags: BuyOptions): Promise<void> => {
  try {
    const service = {
      baseUrl: URL.canParse(flags.url) ? flags.url : usageError('--url must be a URL.'),
      apiKey: flags.key,
      issuer: flags.issuer,
      waitMs: numberOf(flags.wait, '--wait', 3_600) * 1_000,
    }
    const options = {
      onProgress: (progress: Progress) => showProgress(progress, resumeCommandOf(progress.purchaseId)),
    }
    const maxUsd = numberOf(flags.maxUsd, '--max-usd', 1_000_000)
    const start = () => {
      if (flags.resume !== undefined) return resumePurchase(service, flags.resume, options)
      if (workflowId === undefined)
        return usageError('Say what to buy, or which purchase to resume: pohf buy wf_test_ok')
      const networks = networksOf(flags.network)
      const wallet = walletOf(flags.keyFile)
      return createBuyer({ ...service, wallet, maxUsd, networks, payTo: flags.payTo }).buy(
        workflowId,
        options,
      )
    }
    const bought = await start()
    if (flags.json) console.log(JSON.stringify({ ok: true, ...bought }))
    else print(bought)
  } catch (error) {
    fail(error, flags.json)
  }
}

/** Pays a question of `pohf ask --pay x402`. False where it failed: the reason and the exit code are written. */
export const payQuestion = async (
  { questionId, priceUsd }: { readonly questionId: string; readonly priceUsd: number },
  flags: WalletOptions,
): Promise<boolean> => {
  const command = `pohf question ${questionId}`
  try {
    const buyer = createBuyer({
      baseUrl: flags.url,
      apiKey: flags.key,
      wallet: walletOf(flags.keyFile),
      maxUsd: priceUsd,
      networks: networksOf(flags.network),
      payTo: flags.payTo,
    })
    await buyer.payQuestion(questionId, { onProgress: (progress) => showProgress(progress, command) })
    return true
  } catch (error) {
    fail(error, flags.json, () => command)
    return false
  }
}
