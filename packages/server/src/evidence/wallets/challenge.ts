import type { Agent } from '../../platform/http/call.ts'
import type { Ctx } from '../../platform/ops/context.ts'
import { inTransaction, readNow } from '../../platform/db/db.ts'
import { viem } from '../../platform/net/viem.ts'
import { nonceMinutes, walletMessage } from '../rules.ts'
import { insertNonce } from '../store.ts'

type WalletChallengeRequest = {
  readonly wallet?: string | undefined
  readonly chainId?: number | undefined
  readonly memberId?: string | undefined
}

/** Creates the message that a wallet signs. It is stored, so that a caller cannot substitute another text. */
export const walletChallenge = async (ctx: Ctx, agent: Agent, request: WalletChallengeRequest) =>
  inTransaction(ctx, agent.agentId, async (tx) => {
    // EIP-4361 nonces are alphanumeric.
    const nonce = ctx.ids.random().replaceAll(/[^A-Za-z0-9]/g, 'x')
    const issuedAt = await readNow(tx)
    const expiresAt = new Date(issuedAt.getTime() + nonceMinutes * 60_000)
    const message = walletMessage({
      ...request,
      // EIP-4361 requires the checksum; wallets warn when it is missing.
      wallet: request.wallet === undefined ? undefined : viem().getAddress(request.wallet),
      baseUrl: ctx.config.BASE_URL,
      nonce,
      issuedAt,
      expiresAt,
      agentId: agent.agentId,
    })
    await insertNonce(tx, {
      agentId: agent.agentId,
      purpose: 'wallet',
      nonce,
      expiresAt,
      message,
      wallet: request.wallet,
      memberRef: request.memberId,
      chainId: request.chainId,
    })
    return { nonce, message, expiresAt: expiresAt.toISOString() }
  })
