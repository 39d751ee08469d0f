import type { TelemetryEnvironment } from '@pohf/protocol/telemetry'

/** What a script says of the browser that it does not have. */
export const claimedEnvironment: TelemetryEnvironment = {
  webdriver: false,
  width: 1_366,
  height: 768,
  touchPoints: 0,
  reducedMotion: false,
  coalesces: true,
}
