// The global object of toolsets, beside the language itself. Evaluated once, before any module, so that the functions
// captured here are those of the engine, whatever a toolset does to prototypes later. Only private fields, own
// properties of objects without prototype and captured functions are used where the protocol depends on it.
(function (native) {
  'use strict';
  const global = globalThis;
  const { defineProperty, create, freeze, getPrototypeOf } = Object;
  const { apply, ownKeys } = Reflect;
  const ErrorOf = Error, TypeErrorOf = TypeError, RangeErrorOf = RangeError, Exception = DOMException;
  const Bytes = Uint8Array, Buffer = ArrayBuffer, Text = String;
  const isView = Buffer.isView, isArray = Array.isArray;
  const toWellFormed = Text.prototype.toWellFormed;

  const hidden = (target, name, value) =>
    defineProperty(target, name, { value, writable: true, enumerable: false, configurable: true });
  const shown = (name, value) => hidden(global, name, value);

  // Timers: the callbacks are here, the times at which they are due are in globals.rs.
  const callbacks = create(null);
  const timer = (repeat) => function (callback, delay = 0, ...rest) {
    if (typeof callback !== 'function') throw new TypeErrorOf('the callback of a timer must be a function');
    delay = +delay;
    const id = native.timer(delay >= 0 ? delay : 0, repeat);
    callbacks[id] = { __proto__: null, callback, rest, repeat };
    return id;
  };
  const clear = (id) => {
    if (typeof id === 'number' && callbacks[id] !== undefined) {
      delete callbacks[id];
      native.clear(id);
    }
  };
  const fire = (id) => {
    const entry = callbacks[id];
    if (entry === undefined) return;
    if (!entry.repeat) delete callbacks[id];
    apply(entry.callback, undefined, entry.rest);
  };
  shown('setTimeout', timer(false));
  shown('setInterval', timer(true));
  shown('clearTimeout', clear);
  shown('clearInterval', clear);
  shown('setImmediate', (callback, ...rest) => {
    const id = native.timer(0, false);
    callbacks[id] = { __proto__: null, callback, rest, repeat: false };
    return id;
  });

  // Signals.
  let abort, makeSignal;
  const locked = {};
  class AbortSignal {
    #aborted = false;
    #reason = undefined;
    #listeners = { __proto__: null };
    #count = 0;
    onabort = null;
    constructor(key) {
      if (key !== locked) throw new TypeErrorOf('use an AbortController to make a signal');
    }
    get aborted() { return this.#aborted; }
    get reason() { return this.#reason; }
    throwIfAborted() { if (this.#aborted) throw this.#reason; }
    addEventListener(type, listener, options) {
      if (type !== 'abort' || listener === null || listener === undefined) return;
      for (let i = 0; i < this.#count; i++) if (this.#listeners[i]?.listener === listener) return;
      const once = typeof options === 'object' && options !== null && !!options.once;
      this.#listeners[this.#count++] = { __proto__: null, listener, once };
    }
    removeEventListener(type, listener) {
      for (let i = 0; i < this.#count; i++) {
        if (this.#listeners[i]?.listener === listener) this.#listeners[i] = undefined;
      }
    }
    dispatchEvent() { return true; }
    static {
      makeSignal = () => new AbortSignal(locked);
      abort = (signal, reason) => {
        if (signal.#aborted) return;
        signal.#aborted = true;
        signal.#reason = reason === undefined ? new Exception('This operation was aborted', 'AbortError') : reason;
        const event = { type: 'abort', target: signal, currentTarget: signal };
        const run = (listener) => {
          try {
            if (typeof listener === 'function') apply(listener, signal, [event]);
            else if (listener && typeof listener.handleEvent === 'function') listener.handleEvent(event);
          } catch (error) {
            native.log('error', 'a listener of an abort signal threw: ', error);
          }
        };
        if (typeof signal.onabort === 'function') run(signal.onabort);
        for (let i = 0; i < signal.#count; i++) {
          const entry = signal.#listeners[i];
          if (entry !== undefined) run(entry.listener);
        }
      };
    }
    static abort(reason) { const signal = makeSignal(); abort(signal, reason); return signal; }
    static timeout(delay) {
      const signal = makeSignal();
      const id = native.timer(+delay, false);
      const callback = () => abort(signal, new Exception('The operation timed out', 'TimeoutError'));
      callbacks[id] = { __proto__: null, callback, rest: [], repeat: false };
      return signal;
    }
    static any(signals) {
      const any = makeSignal();
      for (const signal of signals) {
        if (signal.aborted) { abort(any, signal.reason); break; }
        signal.addEventListener('abort', () => abort(any, signal.reason));
      }
      return any;
    }
  }
  class AbortController {
    #signal = makeSignal();
    get signal() { return this.#signal; }
    abort(reason) { abort(this.#signal, reason); }
  }
  shown('AbortSignal', AbortSignal);
  shown('AbortController', AbortController);

  // Console: everything becomes a line of the log.
  const line = (level) => (...values) => { native.log(level, ...values); };
  const counts = create(null), times = create(null);
  const console = {
    log: line('info'), info: line('info'), debug: line('debug'), warn: line('warn'), error: line('error'),
    trace: line('debug'), dir: line('info'), dirxml: line('info'), table: line('info'),
    group: line('info'), groupCollapsed: line('info'), groupEnd() {}, clear() {},
    assert(condition, ...values) { if (!condition) native.log('error', 'Assertion failed:', ...values); },
    count(label = 'default') { native.log('info', `${label}: ${(counts[label] = (counts[label] ?? 0) + 1)}`); },
    countReset(label = 'default') { delete counts[label]; },
    time(label = 'default') { times[label] = native.now(); },
    timeLog(label = 'default', ...values) { native.log('info', `${label}: ${native.now() - times[label]} ms`, ...values); },
    timeEnd(label = 'default') { native.log('info', `${label}: ${native.now() - times[label]} ms`); delete times[label]; },
  };
  shown('console', console);

  // Text and bytes.
  const bytesOf = (value) => {
    if (isView(value)) return new Bytes(value.buffer, value.byteOffset, value.byteLength);
    if (value instanceof Buffer) return new Bytes(value);
    throw new TypeErrorOf('expected an ArrayBuffer or a view of one');
  };
  shown('TextEncoder', class TextEncoder {
    get encoding() { return 'utf-8'; }
    encode(text = '') { return native.encode(apply(toWellFormed, `${text}`, [])); }
    encodeInto(text, target) {
      const bytes = native.encode(apply(toWellFormed, `${text}`, []));
      const written = bytes.length < target.length ? bytes.length : target.length;
      for (let i = 0; i < written; i++) target[i] = bytes[i];
      return { read: `${text}`.length, written };
    }
  });
  shown('TextDecoder', class TextDecoder {
    #fatal; #keepMark;
    constructor(label = 'utf-8', options = {}) {
      const name = `${label}`;
      if (name !== 'utf-8' && name !== 'utf8' && name !== 'UTF-8') {
        throw new RangeErrorOf(`only utf-8 can be decoded here, not ${name}`);
      }
      this.#fatal = !!options.fatal;
      this.#keepMark = !!options.ignoreBOM;
    }
    get encoding() { return 'utf-8'; }
    get fatal() { return this.#fatal; }
    decode(bytes) {
      if (bytes === undefined) return '';
      const text = native.decode(bytesOf(bytes), this.#fatal, this.#keepMark);
      if (text === undefined) throw new TypeErrorOf('the bytes are not utf-8');
      return text;
    }
  });
  shown('btoa', (text) => {
    const encoded = native.btoa(`${text}`);
    if (encoded === undefined) throw new Exception('a character is outside of Latin-1', 'InvalidCharacterError');
    return encoded;
  });
  shown('atob', (text) => {
    const decoded = native.atob(`${text}`);
    if (decoded === undefined) throw new Exception('this is not base64', 'InvalidCharacterError');
    return decoded;
  });

  shown('crypto', freeze({
    randomUUID: () => native.uuid(),
    getRandomValues(view) {
      const bytes = bytesOf(view);
      const random = native.random(bytes.length);
      for (let i = 0; i < bytes.length; i++) bytes[i] = random[i];
      return view;
    },
  }));

  // A copy of plain data. Functions and symbols cannot be copied, as everywhere.
  const MapOf = Map, SetOf = Set, DateOf = Date, RegExpOf = RegExp;
  const seenGet = MapOf.prototype.get, seenSet = MapOf.prototype.set;
  shown('structuredClone', (value) => {
    const seen = new MapOf();
    const copy = (value) => {
      if (typeof value === 'function' || typeof value === 'symbol') {
        throw new Exception('a function or symbol cannot be cloned', 'DataCloneError');
      }
      if (typeof value !== 'object' || value === null) return value;
      const known = apply(seenGet, seen, [value]);
      if (known !== undefined) return known;
      const remember = (made) => { apply(seenSet, seen, [value, made]); return made; };
      if (isArray(value)) {
        const made = remember([]);
        for (let i = 0; i < value.length; i++) made[i] = copy(value[i]);
        return made;
      }
      if (value instanceof DateOf) return remember(new DateOf(+value));
      if (value instanceof RegExpOf) return remember(new RegExpOf(value.source, value.flags));
      if (value instanceof Buffer) return remember(value.slice(0));
      if (isView(value)) return remember(value.slice());
      if (value instanceof MapOf) {
        const made = remember(new MapOf());
        for (const [key, entry] of value) made.set(copy(key), copy(entry));
        return made;
      }
      if (value instanceof SetOf) {
        const made = remember(new SetOf());
        for (const entry of value) made.add(copy(entry));
        return made;
      }
      if (value instanceof ErrorOf) {
        const made = remember(new ErrorOf(value.message));
        hidden(made, 'name', value.name);
        return made;
      }
      const made = remember({});
      const keys = ownKeys(value);
      for (let i = 0; i < keys.length; i++) {
        if (typeof keys[i] === 'string' && apply({}.propertyIsEnumerable, value, [keys[i]])) made[keys[i]] = copy(value[keys[i]]);
      }
      return made;
    };
    return copy(value);
  });

  // Code from text is switched off: a module is what the skill's files say it is.
  const refused = (name) => {
    const off = function () { throw new ErrorOf('code cannot be made from text in a toolset'); };
    defineProperty(off, 'name', { value: name });
    return off;
  };
  const kinds = [function () {}, async function () {}, function* () {}, async function* () {}];
  const names = ['Function', 'AsyncFunction', 'GeneratorFunction', 'AsyncGeneratorFunction'];
  for (let i = 0; i < kinds.length; i++) {
    const prototype = getPrototypeOf(kinds[i]);
    const off = refused(names[i]);
    defineProperty(off, 'prototype', { value: prototype });
    defineProperty(prototype, 'constructor', { value: off, writable: false, configurable: false });
    if (i === 0) shown('Function', off);
  }
  delete global.eval;
  shown('eval', refused('eval'));
  // Every context has one; a toolset that looks for it should find what browsers and node have.
  shown('self', global);

  return { __proto__: null, fire, makeSignal, abort, toWellFormed };
})
