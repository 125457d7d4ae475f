// Sleeps of one length, one after the other. Prints as accurate/loop.c does.
package main

import (
	"fmt"
	"os"
	"strconv"
	"syscall"
	"time"
)

func main() {
	nanoseconds, _ := strconv.Atoi(os.Args[1])
	waits, _ := strconv.Atoi(os.Args[2])
	length := time.Duration(nanoseconds)
	late := make([]time.Duration, waits)
	begin := time.Now()
	for i := range late {
		due := time.Now().Add(length)
		time.Sleep(length)
		late[i] = time.Since(due)
	}
	var used syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &used)
	fmt.Println(used.Utime.Nano()+used.Stime.Nano(), time.Since(begin).Nanoseconds())
	for _, each := range late {
		fmt.Println(each.Nanoseconds())
	}
}
