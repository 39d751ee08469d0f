import type { Ctx } from '../../platform/ops/context.ts'
import { loadOnce } from '../../platform/ops/load-once.ts'
import type { DeviceTrust } from './attestation-trust.ts'

export type LoadDeviceTrust = () => Promise<DeviceTrust>

/** The trust anchors, loaded once. They need the libraries for passkeys and certificates, which take 170 ms of CPU. */
export const makeLoadDeviceTrust = ({ config, clock }: Pick<Ctx, 'config' | 'clock'>): LoadDeviceTrust =>
  loadOnce(async () => (await import('./attestation-trust.ts')).loadDeviceTrust(config, clock.now()))

/**
 * Loads the trust anchors where settings name files of them, so that an invalid file stops the start, and warns where their
 * roots are not fully trusted. Otherwise they are loaded with the first device.
 */
export const checkDeviceTrust = async (
  { config, log }: Pick<Ctx, 'config' | 'log'>,
  loadDeviceTrust: LoadDeviceTrust,
): Promise<void> => {
  const {
    ATTEST_ROOTS_FILE: roots,
    ATTEST_FIDO_METADATA_FILE: metadata,
    ATTEST_PLAY_KEYS_FILE: keys,
  } = config
  if ((roots ?? metadata ?? keys) === undefined) return
  if ((await loadDeviceTrust()).capped)
    log.warn(
      { setting: 'ATTEST_ROOTS_FILE', file: roots },
      'devices that custom attestation roots certify count as software: ATTEST_ALLOW_CUSTOM_ROOTS is off',
    )
}
