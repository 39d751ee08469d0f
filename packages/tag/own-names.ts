/**
 * Properties of our own objects, shortened in the scripts. A name that a message to the service, JavaScript or the DOM also
 * has must not be here: the script would read nothing under it, without an error. A test compares.
 */
export const ownNames: readonly string[] = `
  isShowing validSeconds isPrivate isRemembered isDisabled isRequired isInvisible isTrapped isOpen isRunning
  isFilling onPassed onLeft onAnswered onMissed onWords onReceipt chooseByKey present remembers
  browserKey helpUrl privacyUrl signAsBrowser given sendSoon sendLast retryMs recorder actionHash
  dispatched about chunkBytes chunksPerSession bytesPerSession eventsPerChunk pointsPerRun aheadMs
  agree few memory privacy privacyLink leave questionCount wrong late ending welcome passedNext checkExpired
  busy busyUntil useKey stuck other again begin fail readKey forget keep opened jkt fields run rest
  checkRun sleep wake post lead foot bar stuckLost stuckAway without whyElse missed acts beforeFinish pushRequest`
  .trim()
  .split(/\s+/)
