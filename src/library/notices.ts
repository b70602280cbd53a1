/** The notices of this machine: intents proven by its key, delivery of what is owed, direct notices of an observing leg. */
import * as E from 'fp-ts/lib/Either.js';
