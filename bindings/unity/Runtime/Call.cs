using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.Text;
using System.Threading.Tasks;

namespace Commute.Client
{
    /// <summary>
    /// A call: its native half by id, and the tasks that wait for it. Tasks are completed by the engine's
    /// thread, and what follows them runs elsewhere.
    /// </summary>
    sealed class Call
    {
        readonly CommuteEngine engine;
        readonly ulong engineId, user;
        readonly TaskCompletionSource<int> head =
            new TaskCompletionSource<int>(TaskCreationOptions.RunContinuationsAsynchronously);
        readonly Signal readable = new Signal(), writable = new Signal();
        readonly object gate = new object();
        /// <summary>0 until the call that started it has returned.</summary>
        ulong id;
        bool released;
        Exception failure;

        public Call(CommuteEngine engine, ulong engineId, ulong user)
        {
            this.engine = engine;
            this.engineId = engineId;
            this.user = user;
            // Nobody may be waiting when the call fails.
            head.Task.ContinueWith(task => task.Exception, TaskContinuationOptions.OnlyOnFaulted);
        }

        /// <summary>Sets the native id.</summary>
        public void Begin(ulong native) => Id = native;

        /// <summary>Waits for the head of the response; returns its status. 0: a connection was opened.</summary>
        public Task<int> Head => head.Task;

        /// <summary>Writes a piece of the body, waiting for room. Returns false if no more of it is wanted.</summary>
        public async Task<bool> WriteAsync(byte[] bytes, int offset, int count)
        {
            while (count > 0)
            {
                var room = writable.Wait();
                UIntPtr taken;
                var status = (CommuteStatus)Native.cm_write(
                    engineId, Id, ref bytes[offset], (UIntPtr)count, out taken);
                if (status == CommuteStatus.Again)
                    await room.ConfigureAwait(false);
                else if (status == CommuteStatus.Ok)
                {
                    offset += (int)taken;
                    count -= (int)taken;
                }
                else if (status == CommuteStatus.End)
                    return false;
                else
                    throw Failure(status);
            }
            return true;
        }

        /// <summary>Ends the body.</summary>
        public void Finish() => Native.cm_finish(engineId, Id);

        /// <summary>Reads what has come of the body, waiting for some; 0 at its end.</summary>
        public async Task<int> ReadAsync(byte[] bytes, int offset, int count)
        {
            while (true)
            {
                var more = readable.Wait();
                UIntPtr got;
                var status = (CommuteStatus)Native.cm_read(
                    engineId, Id, ref bytes[offset], (UIntPtr)count, out got);
                if (status == CommuteStatus.Again)
                    await more.ConfigureAwait(false);
                else if (status == CommuteStatus.Ok)
                    return (int)got;
                else if (status == CommuteStatus.End)
                    return 0;
                else
                    throw Failure(status);
            }
        }

        /// <summary>Returns fields of the response as names and values.</summary>
        // Their bytes may not be UTF-8 (RFC 9110 section 5.5).
        public List<KeyValuePair<string, string>> Fields(uint what) =>
            Lines(Encoding.GetEncoding("iso-8859-1").GetString(Text(what)));

        /// <summary>Returns how the call fared so far.</summary>
        public RouteReport Report()
        {
            var text = Text(Native.Report);
            var now = Stopwatch.GetTimestamp();
            return new RouteReport(Lines(Encoding.UTF8.GetString(text)), now);
        }

        /// <summary>Ends the call with an exception of the app's own.</summary>
        public void Abort(Exception why)
        {
            End(why);
            Cancel();
        }

        public void Cancel() => Native.cm_cancel(engineId, Id);

        /// <summary>Cancels the call unless it has ended, and forgets it.</summary>
        public void Release()
        {
            lock (gate)
            {
                if (released)
                    return;
                released = true;
            }
            Native.cm_release(engineId, Id);
            engine.Forget(user);
            End(new CommuteException(CommuteStatus.Cancelled, true, "the response was disposed"));
        }

        /// <summary>Handles an event, on the engine's thread.</summary>
        public void Handle(ref NativeEvent happened)
        {
            switch (happened.Kind)
            {
                case Native.Head:
                    head.TrySetResult((int)happened.Number);
                    break;
                case Native.Readable:
                    readable.Set();
                    break;
                case Native.Writable:
                    writable.Set();
                    break;
                case Native.Done:
                    // The event may come before cm_submit has told the id.
                    Id = happened.Call;
                    var status = (CommuteStatus)happened.Status;
                    End(status == CommuteStatus.Ok ? null : new CommuteException(
                        status, happened.Number == 1, Encoding.UTF8.GetString(Text(Native.Error))));
                    break;
            }
        }

        /// <summary>Ends all waiting. What was received before can still be read, unless the engine was closed.</summary>
        public void End(Exception why)
        {
            lock (gate)
                failure = failure ?? why;
            if (why != null)
                head.TrySetException(why);
            else
                // Only a call that opens a connection ends well without a head.
                head.TrySetResult(0);
            readable.Set();
            writable.Set();
        }

        static List<KeyValuePair<string, string>> Lines(string text)
        {
            var lines = new List<KeyValuePair<string, string>>();
            foreach (var line in text.Split(new[] { "\r\n" }, StringSplitOptions.RemoveEmptyEntries))
            {
                var colon = line.IndexOf(": ", StringComparison.Ordinal);
                lines.Add(new KeyValuePair<string, string>(line.Substring(0, colon), line.Substring(colon + 2)));
            }
            return lines;
        }

        byte[] Text(uint what) => Native.Copy((byte[] into, UIntPtr cap, out UIntPtr length) =>
            Native.cm_get_text(engineId, Id, what, into, cap, out length)) ?? new byte[0];

        ulong Id
        {
            get
            {
                lock (gate)
                    return id;
            }
            set
            {
                lock (gate)
                    id = value;
            }
        }

        Exception Failure(CommuteStatus status)
        {
            lock (gate)
                return failure ?? CommuteException.Of((int)status, true);
        }
    }

    /// <summary>
    /// Wakes whoever waits. A waiter takes the task before it looks whether it must wait, so that no signal
    /// is lost in between.
    /// </summary>
    sealed class Signal
    {
        TaskCompletionSource<bool> next = New();

        public Task Wait() => System.Threading.Volatile.Read(ref next).Task;

        public void Set() => System.Threading.Interlocked.Exchange(ref next, New()).TrySetResult(true);

        static TaskCompletionSource<bool> New() =>
            new TaskCompletionSource<bool>(TaskCreationOptions.RunContinuationsAsynchronously);
    }
}
