import { reportMethod, type approvalReportClaims } from '@pohf/protocol'
import type { z } from 'zod'
import { inTransaction } from '../../platform/db/db.ts'
import { ApiResponse, type Agent } from '../../platform/http/call.ts'
import type { Ctx } from '../../platform/ops/context.ts'
import { renderPack } from './render-pack.ts'
import { readReport, type ReportQuery } from './report.ts'

export type SignReport = (claims: z.input<typeof approvalReportClaims>) => Promise<string>

type PackDeps = { readonly ctx: Ctx; readonly signReport: SignReport }
type PackQuery = ReportQuery & { readonly format?: 'json' | 'html' | undefined }

/** The report as evidence: signed, as JSON for programs or as a page to print that carries the signed form. */
export const pack = async ({ ctx, signReport }: PackDeps, agent: Agent, query: PackQuery) => {
  const report = await inTransaction(ctx, agent.agentId, (tx) => readReport(tx, agent, query))
  const issuer = ctx.config.BASE_URL
  const signedAt = Math.floor(ctx.clock.now().getTime() / 1_000)
  const jws = await signReport({
    iss: issuer,
    iat: signedAt,
    sub: agent.agentId,
    mode: agent.mode,
    method: reportMethod,
    report,
  })
  const name = `approvals-${report.from.slice(0, 10)}-${report.to.slice(0, 10)}`
  if (query.format !== 'html')
    return new ApiResponse(
      { report, method: reportMethod, jws },
      { headers: { 'content-disposition': `attachment; filename="${name}.json"` } },
    )
  const text = renderPack({ issuer, agentId: agent.agentId, mode: agent.mode, signedAt, report, jws })
  return new ApiResponse(undefined, {
    headers: {
      'content-disposition': `attachment; filename="${name}.html"`,
      // A file to keep: if a browser shows it here nevertheless, nothing in it runs or loads.
      'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'; sandbox",
    },
    raw: { mediaType: 'text/html; charset=utf-8', text },
  })
}
