/* Stands in for a DLL that Rust's standard library imports and that Wine 8 does
 * not have. Its one function fills a buffer with random bytes, which Windows
 * has always had as SystemFunction036 (RtlGenRandom) too. */

typedef unsigned char byte;

__declspec(dllimport) byte __stdcall SystemFunction036(void *buffer, unsigned long length);

__declspec(dllexport) int __stdcall ProcessPrng(byte *buffer, unsigned long long length)
{
    while (length > 0) {
        unsigned long part = length > 0x10000 ? 0x10000 : (unsigned long)length;
        if (!SystemFunction036(buffer, part))
            return 0;
        buffer += part;
        length -= part;
    }
    return 1;
}
