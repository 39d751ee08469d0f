import { z } from 'zod'
import { operation } from '../platform/endpoint.ts'
import { instant, queryInstant, reference, text, unitInterval } from '../platform/fields.ts'
import { modes } from '../platform/ids.ts'
import { nextPage, pageQuery } from '../platform/lists.ts'
import { actionTypeName, approvedAction, approvalDecisions, approvalId, approversMax } from './operations.ts'

/** The name of the rules of the report. Other rules get another name. */
export const reportMethod = 'approval-report-1'
/** The longest period of a report. */
export const reportDaysMax = 366
/** A period with more decisions is refused: choose a shorter one. */
export const reportDecisionsMax = 100_000

export const settings = z.object({
  perPerson: z.boolean().meta({
    description: 'Whether the report names people. Labour law may apply; off unless an owner turns it on.',
  }),
  decisionsPerHour: z
    .int()
    .min(1)
    .max(1_000)
    .meta({ description: 'How many approvals a person may give in an hour.' }),
  changedAt: instant().nullable(),
})
export const settingsRead = operation({ summary: 'Read how approvals are measured.', response: settings })
export const settingsWrite = operation({
  summary: 'Change how approvals are measured.',
  body: z.object({
    perPerson: z.boolean().optional(),
    decisionsPerHour: z.int().min(1).max(1_000).optional(),
  }),
  response: settings,
})

export const share = z.object({
  n: z.int().min(0),
  of: z.int().min(0),
  /** Null where there is none. */
  share: unitInterval().nullable(),
  low: unitInterval().nullable(),
  high: unitInterval().nullable(),
})
export const figures = z.object({
  /** With those about known-bad requests, which nobody can tell from others. */
  decisions: z.int().min(0),
  approved: z.int().min(0),
  denied: z.int().min(0),
  /** Of known-bad requests: those that were denied. The interval is that of Wilson, 95 percent. */
  caught: share,
  /** Of approvals: those faster than the reading time. A denial needs one reason, so it may be fast. */
  fast: share,
  medianSecondsInView: z.number().min(0).nullable(),
  medianAttention: unitInterval().nullable(),
})
export type ApprovalFigures = z.output<typeof figures>
export const report = z.object({
  from: instant(),
  to: instant(),
  requests: z.int().min(0),
  expired: z.int().min(0),
  consumed: z.int().min(0),
  team: figures,
  perPerson: z
    .object({
      people: z
        .array(figures.extend({ approver: z.string(), name: z.string(), belowTeam: z.boolean() }))
        .max(200),
      /** People with fewer known-bad requests than are needed. */
      tooFew: z.int().min(0),
    })
    .nullable()
    .meta({ description: 'Null unless an owner turned it on.' }),
})
export type ApprovalReport = z.output<typeof report>
export const reportRead = operation({
  summary: 'How attentive the decisions were, for the team; per person only where that is turned on.',
  query: z.object({ from: queryInstant().optional(), to: queryInstant().optional() }),
  response: report,
})
/** What is signed in an evidence pack. */
export const approvalReportClaims = z.strictObject({
  iss: z.url(),
  iat: z.int(),
  /** The agent whose approvals it is about. */
  sub: z.string().regex(/^agt_[a-z0-9]{28}$/),
  mode: z.enum(modes),
  method: z.literal(reportMethod),
  report: report.strict(),
})
export const pack = operation({
  summary: 'Export the report as a signed evidence pack, as JSON or as a page to print.',
  alsoMediaType: 'text/html',
  query: z.object({
    from: queryInstant().optional(),
    to: queryInstant().optional(),
    format: z.enum(['json', 'html']).optional(),
  }),
  response: z.object({
    report,
    method: z.string().meta({ description: 'The rules by which it was computed.' }),
    jws: z.string().meta({
      description:
        'The same report as a compact JWS of type approval-report+jwt, signed by the key with pohf_purpose report.',
    }),
  }),
})

export const knownBad = z.object({
  approvalId,
  type: z.string(),
  reason: z.string(),
  approvers: z.array(z.string()).max(approversMax),
  createdAt: instant(),
  outcomes: z
    .array(z.object({ decision: z.enum(approvalDecisions), n: z.int().min(0) }))
    .max(2)
    .meta({ description: 'For all approvers together.' }),
})
export const knownBadList = operation({
  summary: 'List the known-bad requests.',
  query: z.object({ ...pageQuery }),
  response: z.object({ items: z.array(knownBad).max(100), ...nextPage }),
})
export const knownBadCreate = operation({
  summary: 'Send a known-bad request: it looks like any other, should be denied, and can never be consumed.',
  errors: ['approval_refused', 'approval_conflict'],
  exactJson: true,
  body: z.object({
    type: actionTypeName,
    action: approvedAction,
    approvers: z.array(text(64)).min(1).max(approversMax),
    reason: text(500).meta({ description: 'Why it should be denied. Approvers read it after they decided.' }),
    requestId: reference(128)
      .optional()
      .meta({ description: 'The reference that approvers see: write it as your agent does.' }),
    title: text(200).optional(),
    summary: text(2_000).optional(),
    decideBy: z.iso.datetime({ offset: true }).optional(),
  }),
  response: knownBad,
})

export const ownFigures = operation({
  summary: 'The figures of the person who is signed in, which only they can read.',
  limit: 'tasks',
  response: z.object({
    figures,
    knownBad: z
      .array(
        z.object({
          approvalId,
          title: z.string().nullable(),
          decision: z.enum(approvalDecisions),
          reason: z.string(),
          decidedAt: instant(),
        }),
      )
      .max(50)
      .meta({ description: 'Known-bad requests that the person has decided: those decided are over.' }),
  }),
})
