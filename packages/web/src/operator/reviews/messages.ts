import type { OrderReview, OrderReviewSummary } from '@pohf/protocol'
import { pluralize } from '../../shared/design/time.ts'

export const causeText = ({ cause, reporters }: OrderReviewSummary): string =>
  cause === 'new_buyer' ? 'New buyer' : `Reported by ${pluralize(reporters, 'worker')}`

type Reason = OrderReview['reports'][number]['reason']
export const reportReasonTexts: Readonly<Record<Reason, string>> = {
  leads_elsewhere: 'It sends workers elsewhere',
  asks_personal_data: 'It asks for personal data, a password or a code',
  harmful: 'It harms or insults somebody',
  other: 'No reason, or another one',
}
