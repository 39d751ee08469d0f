// Installs Debian's Chromium and its headless shell for the browser tests, where this is Debian and we are root.
// node tools/ci/chromium.ts
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'

const apt = (...parameters: string[]) =>
  spawnSync('apt-get', ['-q', ...parameters], {
    stdio: ['ignore', 'ignore', 'inherit'],
    timeout: 300_000,
    env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
  }).status ?? 1

if (['chromium', 'chromium-headless-shell'].every((name) => existsSync(`/usr/bin/${name}`)))
  console.log('Chromium is here already')
else if (process.getuid?.() !== 0) {
  console.error('Only root may install Chromium: run as root, or set CHROMIUM_PATH to one you have.')
  process.exitCode = 1
} else {
  const failed =
    apt('update') ||
    apt(
      'install',
      '-y',
      '--no-install-recommends',
      'chromium',
      'chromium-headless-shell',
      'fonts-dejavu-core',
    )
  if (failed) process.exitCode = failed
  else console.log('Chromium is installed')
}
