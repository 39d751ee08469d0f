import { agentCall, type AgentRemote } from '../command/agent.ts'
import { printAnswer } from '../command/output.ts'

type Balance = {
  readonly balance: number
  readonly lifetimePurchased: number
  readonly lifetimeConsumed: number
  readonly packs: readonly { readonly pack: string; readonly credits: number; readonly priceUsd: number }[]
  readonly freeRemaining: number
  readonly freeResetsAt: string
  /** Missing in the answer of an older service. */
  readonly disputes?: readonly {
    readonly pack: string
    readonly state: string
    readonly disputedAt: string
    readonly suspended: number
    readonly revoked: number
    readonly isDone: boolean
  }[]
}

/** `pohf balance`. */
export const showBalance = async (options: AgentRemote): Promise<void> => {
  const answer = await agentCall<Balance>(options, 'GET', '/api/agents/credits/balance')
  printAnswer(options, answer, () => {
    console.log(`credits             ${answer.balance}`)
    console.log(`free verifications  ${answer.freeRemaining} until ${answer.freeResetsAt.slice(0, 10)}`)
    console.log(`bought in all       ${answer.lifetimePurchased}`)
    console.log(`spent in all        ${answer.lifetimeConsumed}`)
    const packs = answer.packs.map(
      ({ pack, credits, priceUsd }) => `${pack} (${credits} for ${priceUsd} USD)`,
    )
    console.log(`packs               ${packs.join(', ')}`)
    for (const { pack, state, disputedAt, suspended, revoked, isDone } of answer.disputes ?? [])
      console.log(
        `dispute of ${disputedAt.slice(0, 10)}  ${pack}: ${state}; credentials: ${suspended} suspended, ${revoked} revoked${isDone ? '' : ', not all changed yet'}`,
      )
  })
}
